#!/usr/bin/env python3
"""What action.yml asks of GitHub's API, with Python's standard library alone.

    github.py accepted FILE     write the waivers of this change to FILE, one a line, as `--waive` takes them
    github.py comment FOLDER    post the comments in FOLDER, each in place of its earlier one

Reads GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_EVENT_NAME, GITHUB_EVENT_PATH, TOKEN and NAME. An answer that is missing or cannot be read
accepts nothing and posts nothing: it is a warning, and the status of the step stays that of the verdict.
"""

import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

LABEL = "accept-regression"
TRAILER = "Accept-regression"
MARKER = re.compile(r"<!-- ncugate:[\w-]* -->")
# The author of what a job's token posts.
BOT = "github-actions[bot]"
PAGE = 100


def warn(text):
    """An annotation. GitHub reads a line as a command, so the text is one line."""
    print(f"::warning::{' '.join(text.split())}", file=sys.stderr)


def ask(method, path, body=None):
    request = urllib.request.Request(
        f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {os.environ['TOKEN']}",
            "Content-Type": "application/json",
            "User-Agent": "ncugate",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def event():
    """The event of a pull request; None for any other. `pull_request_target` is another one: it accepts nothing."""
    if os.environ.get("GITHUB_EVENT_NAME") != "pull_request":
        return None
    return json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))


def can_write(user):
    """Whether a person, not a bot, has permission to write. Roles below `write` can set labels, but not accept."""
    if user["type"] != "User":
        return False
    answer = ask("GET", f"collaborators/{urllib.parse.quote(user['login'], safe='')}/permission")
    return answer["permission"] in ("admin", "write")


def git(*arguments):
    # Decoded as bytes: text mode makes a line end of a carriage return.
    return subprocess.run(["git", *arguments], check=True, capture_output=True).stdout.decode()


def lines(commit):
    """Values of the trailer in the message of the head commit; a later commit needs its own."""
    # The checkout is the head, or its merge with the target.
    if commit not in git("rev-list", "--parents", "-n", "1", "HEAD").split():
        raise ValueError(f"{commit} is not what is checked out")
    shown = git("log", "-1", f"--format=%(trailers:key={TRAILER},valueonly,unfold)", commit, "--")
    found = [line for line in shown.split("\n") if line.strip()]
    # Who sets the label sees one line for each waiver.
    if unseen := next((line for line in found if not line.isprintable()), None):
        raise ValueError(f"{TRAILER} has a character that is not printed: {unseen!a}")
    return found


def accepted():
    change = event()
    if change is None:
        return []
    pull, sender = change["pull_request"], change["sender"]
    head, author = pull["head"], pull["user"]
    # The event of a label names the commit that its giver saw.
    labelled = change["action"] == "labeled" and change["label"]["name"] == LABEL
    # Only who can write pushes to this repository.
    ours = (head["repo"] or {}).get("full_name") == os.environ["GITHUB_REPOSITORY"]
    asked = lines(head["sha"])
    if not labelled and not asked:
        return []
    by = sender if labelled else author
    if not (labelled or ours) or not can_write(by):
        warn(f"{TRAILER} counts for nothing here: a person who can write to this repository accepts it with the label {LABEL}")
        return []
    where = f"accepted by the label {LABEL} of {by['login']}" if labelled else f"accepted in {head['sha'][:10]} by {by['login']}"
    return [f"{line} ({where})" for line in asked] or [f"*/*: {where}"]


def comments(number):
    page = 1
    while True:
        found = ask("GET", f"issues/{number}/comments?per_page={PAGE}&page={page}")
        yield from found
        if len(found) < PAGE:
            return
        page += 1


def comment(folder):
    change = event()
    if change is None:
        return
    number = change["pull_request"]["number"]
    stamp = "<!-- {} -->".format(re.sub(r"[^\w]", "_", os.environ["NAME"]))
    written = {}
    for file in sorted(Path(folder).glob("*.md")):
        marker, _, rest = file.read_text(encoding="utf-8").partition("\n")
        if MARKER.fullmatch(marker):
            written[marker] = f"{marker}\n{stamp}\n{rest}"
    earlier = {}
    for found in comments(number):
        marker, _, rest = (found["body"] or "").replace("\r", "").partition("\n")
        if (found["user"] or {}).get("login") == BOT and MARKER.fullmatch(marker) and rest.startswith(f"{stamp}\n"):
            earlier.setdefault(marker, found["id"])
    for marker, id in earlier.items():
        # A verdict of an earlier commit does not stand for this one.
        outdated = f"{marker}\n{stamp}\n❔ The last run did not judge this phase; its job says why."
        ask("PATCH", f"issues/comments/{id}", {"body": written.get(marker, outdated)})
    for marker, body in written.items():
        if marker not in earlier:
            ask("POST", f"issues/{number}/comments", {"body": body})


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("accepted", "comment"):
        sys.exit(__doc__)
    verb, path = sys.argv[1:]
    try:
        if verb == "accepted":
            Path(path).write_text("".join(f"{waiver}\n" for waiver in accepted()), encoding="utf-8")
        else:
            comment(path)
    except Exception as error:  # Whatever the cause: nothing is accepted, and the verdict stands without a comment.
        what = "no regression is accepted" if verb == "accepted" else "the comment, which needs `pull-requests: write`, was not posted"
        warn(f"{what}: {error!r}")
