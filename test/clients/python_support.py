"""What the scripts for python-gitlab share."""
import contextlib
import os
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zlib

import gitlab

URL = os.environ["FAIRLEAD_URL"]
TOKEN = os.environ["FAIRLEAD_TOKEN"]
PER_PAGE = 5

# The client only warns when web_url or a Link is on another host than the one it called; here that is a failure.
warnings.simplefilter("error", UserWarning)
failures = 0

@contextlib.contextmanager
def check(name):
    global failures
    try:
        yield
        print(f"ok {name}", flush=True)
    except Exception as problem:
        failures += 1
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())
        print(f"not ok {name}: {reason}", flush=True)

def eventually(look):
    """What is found at last, looked for during ten seconds."""
    for _ in range(100):
        found = look()
        if found:
            break
        time.sleep(0.1)
    return found

def end():
    sys.exit(1 if failures else 0)

def same(actual, expected):
    if actual != expected:
        raise AssertionError(f"got {actual!r}, expected {expected!r}")

def refused(error, status, call, text=""):
    try:
        call()
    except error as problem:
        same(problem.response_code, status)
        if text not in str(problem.error_message):
            raise AssertionError(f"got {problem.error_message!r}, expected it to say {text!r}")
    else:
        raise AssertionError(f"was not refused with {status}")

def git(*arguments, folder):
    config = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_TERMINAL_PROMPT": "0"}
    who = ["-c", "user.name=Python", "-c", "user.email=python@example.com"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, env={**os.environ, **config}, check=True,
                          capture_output=True, text=True, timeout=60).stdout

def push_file(address, name, content):
    """Clones a repository, and pushes one more file to it."""
    with tempfile.TemporaryDirectory() as folder:
        git("clone", "--quiet", address.replace("://", f"://oauth2:{TOKEN}@"), "copy", folder=folder)
        copy = f"{folder}/copy"
        with open(f"{copy}/{name}", "w") as file:
            file.write(content)
        git("add", ".", folder=copy)
        git("commit", "--quiet", "--message", "More", folder=copy)
        git("push", "--quiet", "origin", "main", folder=copy)

def png(red, green, blue):
    """A whole PNG of 8 by 8 pixels in one colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    row = b"\x00" + bytes([red, green, blue]) * 8
    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(row * 8)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body

def client(token=TOKEN, **options):
    return gitlab.Gitlab(URL, private_token=token, timeout=30, **options)

def person(username):
    options = {"force_random_password": True, "skip_confirmation": True}
    return {"username": username, "name": f"Name of {username}", "email": f"{username}@example.com", **options}
