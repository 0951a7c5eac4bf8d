"""Files of the workflow engine whose queue is known: a new one is looked for only each second."""

import shutil

from perfledger_service.workflows import UploadWorkflow


class EngineFiles:
    """One file that a workflow has made, and copies of it."""

    def __init__(self, folder):
        self._file = folder / "jobs.db"
        jobs = UploadWorkflow(f"sqlite:///{self._file}", None)
        jobs.launch()
        jobs.close()

    def copy_to(self, file):
        """Copy the file and return the URL of the copy."""
        shutil.copy(self._file, file)
        return f"sqlite:///{file}"
