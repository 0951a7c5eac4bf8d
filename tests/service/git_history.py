"""A real git repository, and GitHub's API of its commits over real HTTP."""

import json
import os
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 7  # small, so that a walk takes several requests


class GitHistory:
    """A repository whose commits have the dates that a test gives them."""

    def __init__(self, folder):
        self.folder = folder
        self.commits = 0
        self.requests: list[str] = []
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *words, day=0):
        moment = f"@{1_700_000_000 + day * 86_400} +0000"
        names = {"NAME": "ann", "EMAIL": "ann@example.com", "DATE": moment}
        people = {
            f"GIT_{who}_{key}": value
            for who in ("AUTHOR", "COMMITTER")
            for key, value in names.items()
        }
        done = subprocess.run(
            ["git", "-C", str(self.folder), *words],
            check=False,
            capture_output=True,
            text=True,
            env=os.environ | people,
        )
        if done.returncode:
            raise ValueError(done.stderr)
        return done.stdout.strip()

    def commit(self, day=None):
        """Commit on the current branch, and return the hash."""
        self.commits += 1
        day = 10 + self.commits if day is None else day
        self.git("commit", "-q", "--allow-empty", "-m", f"commit {self.commits}", day=day)
        return self.git("rev-parse", "HEAD")

    def merge(self, side_commits=1):
        """Merge a side branch of new commits into main; return its commits and the merge."""
        self.git("checkout", "-q", "-b", f"side{self.commits}")
        side = [self.commit() for _ in range(side_commits)]
        branch = self.git("rev-parse", "--abbrev-ref", "HEAD")
        self.git("checkout", "-q", "main")
        self.commits += 1
        self.git("merge", "-q", "--no-ff", "-m", "merge", branch, day=10 + self.commits)
        return side, self.git("rev-parse", "HEAD")

    def answer(self, path, query):
        """Return status and JSON of a request below the repository, as GitHub answers."""
        if path == "":
            return 200, {"default_branch": "main"}
        try:
            if path == "commits":
                wanted_sha = query["sha"][0]
                lines = self.git("log", f"-{PAGE}", "--format=%H %P", wanted_sha).splitlines()
                return 200, [
                    {"sha": sha, "parents": [{"sha": each} for each in parents]}
                    for sha, *parents in map(str.split, lines)
                ]
            base, _, head = path.removeprefix("compare/").partition("...")
            ends = [self.git("rev-parse", "--verify", f"{each}^0") for each in (base, head)]
            shared = self.git("merge-base", *ends)
        except ValueError:
            return 404, {"message": "Not Found"}
        names = {(True, True): "identical", (True, False): "ahead", (False, True): "behind"}
        return 200, {"status": names.get((shared == ends[0], shared == ends[1]), "diverged")}


@contextmanager
def serving_history(history):
    """Serve GitHub's API of octo/models on a free loopback port; yields its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            url = urlsplit(self.path)
            path = unquote(url.path).removeprefix("/repos/octo/models").strip("/")
            history.requests.append(path)
            status, document = history.answer(path, parse_qs(url.query))
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
