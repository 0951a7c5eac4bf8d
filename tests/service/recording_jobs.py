"""A workflow that only remembers its work."""

from perfledger_service.workflows import UploadWorkflow


class RecordingJobs(UploadWorkflow):
    """Remembers what was enqueued and does none of it."""

    def __init__(self):
        self.works, self.checks, self.commands, self.notices = [], [], [], []
        self._is_launched = False

    @property
    def is_launched(self):
        return self._is_launched

    def launch(self):
        self._is_launched = True

    def enqueue(self, work):
        self.works.append(work)

    def enqueue_check(self, check):
        self.checks.append(check)

    def enqueue_command(self, command):
        self.commands.append(command)

    def enqueue_notice(self, notice):
        self.notices.append(notice)

    def close(self):
        self._is_launched = False
        return True
