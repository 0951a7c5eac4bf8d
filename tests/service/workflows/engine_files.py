"""Files of the workflow engine whose queue is known: a new one is looked for only each second."""

import shutil

from perfledger_service.workflows import UploadWorkflow, WorkflowSteps

NO_STEPS = WorkflowSteps(
    judge=lambda _: False,
    post=lambda _: (),
    fail=lambda _, __: None,
    defer=lambda _, __, ___: None,
    deadlines=lambda _: (),
    post_check=lambda _: (),
    carry_out=lambda _: (),
    fail_command=lambda _, __: None,
)


class EngineFiles:
    """One file that a workflow has made, and copies of it."""

    def __init__(self, folder):
        self._file = folder / "jobs.db"
        jobs = UploadWorkflow(f"sqlite:///{self._file}", NO_STEPS)
        jobs.launch()
        jobs.close()

    def copy_to(self, file):
        """Copy the file and return the URL of the copy."""
        shutil.copy(self._file, file)
        return f"sqlite:///{file}"
