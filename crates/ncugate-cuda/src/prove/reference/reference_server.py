"""Calls functions of a Python file that is imported once, each call in a forked process.

Started by ncugate as `python3 ncugate_reference_server.py FILE`. Standard input is a pipe that ends with ncugate, standard output a listening Unix
socket in the folder of this program. A request is one line of JSON, the answer another. A closed connection ends its call.

A forked process is the interpreter as it was after the import, so that no call sees what another one left behind. If such a
process would differ from a fresh interpreter, this program exits, and every call starts one.
"""

import ctypes
import fcntl
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import sys
import threading
import traceback
import warnings

import numpy as np
from ncugate_import import place
from ncugate_reference import answer, function, load

OWN = os.path.dirname(os.path.abspath(__file__))
# Bytes kept of the end of an output.
END = 64 << 10
DEATH_SIGNAL = 1


def threads():
    return len(os.listdir("/proc/self/task"))


def mappings():
    with open("/proc/self/maps") as file:
        return [line.split(maxsplit=5) for line in file]


def linear_algebra():
    """Copies of OpenBLAS, whose threads survive a fork."""
    return len({line[5] for line in mappings() if len(line) > 5 and "openblas" in line[5]})


def shared_memory():
    return {line[0] for line in mappings() if line[1][1] == "w" and line[1][3] == "s"}


def open_files():
    """The numbers of open files. The folder that lists them is closed by the time they are looked at."""
    return {number for number in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{number}")}


def generators():
    name, keys, *rest = np.random.get_state()
    return random.getstate(), name, keys.tobytes(), rest


def modules(folder):
    """The names of modules and packages in a folder."""
    for entry in os.scandir(folder):
        if entry.name.endswith((".py", ".so")) or os.path.isfile(os.path.join(entry.path, "__init__.py")):
            yield entry.name.split(".")[0]


class Import:
    """The process before the import of a file, to tell whether a forked process will be like a fresh interpreter."""

    def __init__(self, path):
        folders, _ = place(path)
        # The file could import its own module of such a name, but this program has loaded another.
        self.hidden = {name for folder in folders for name in modules(folder)} & sys.modules.keys()
        self.threads, self.libraries = threads(), linear_algebra()
        self.memory, self.files, self.generators = shared_memory(), open_files(), generators()
        self.draws, self.urandom = 0, random._urandom
        random._urandom = self.draw

    def draw(self, size):
        """Random bytes for generators without a seed: every copy would have the same."""
        self.draws += 1
        return self.urandom(size)

    def can_fork(self):
        random._urandom = self.urandom
        per_library = (self.threads - 1) / max(self.libraries, 1)
        return (
            not self.hidden
            and threading.active_count() == 1
            and threads() <= 1 + per_library * max(linear_algebra(), 1)
            and open_files() <= self.files
            and shared_memory() <= self.memory
            and generators() == self.generators
            and self.draws == 0
        )


def group(pid):
    """Gives a process its own group. It does the same itself, and either can be first."""
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass


class Call:
    """A forked process that answers a request."""

    def __init__(self, connection):
        self.connection = connection
        self.printed = {"stdout": bytearray(), "stderr": bytearray()}
        self.pipes = {}
        writers = []
        for name in self.printed:
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            self.pipes[reader] = name
            writers.append(writer)
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(writers[0], 1)
            os.dup2(writers[1], 2)
        else:
            group(self.pid)
        for writer in writers:
            os.close(writer)

    def read(self):
        """Keeps the end of what the process has printed so far."""
        for pipe, name in list(self.pipes.items()):
            try:
                while data := os.read(pipe, END):
                    self.printed[name] = (self.printed[name] + data)[-END:]
            except BlockingIOError:
                continue
            os.close(pipe)
            del self.pipes[pipe]

    def has_ended(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self):
        """Ends the process and its descendants; returns its exit status, or minus the signal that ended it."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass
        _, status = os.waitpid(self.pid, 0)
        self.read()
        for pipe in self.pipes:
            os.close(pipe)
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)

    def reply(self):
        status = self.end()
        said = {name: data.decode("utf-8", "replace") for name, data in self.printed.items()}
        try:
            self.connection.sendall(json.dumps({"status": status, **said}).encode() + b"\n")
        except OSError:  # nobody waits for it
            pass
        self.connection.close()


def request(connection):
    """The request of a connection; None if it ended before."""
    connection.settimeout(5)
    text = b""
    while not text.endswith(b"\n"):
        part = connection.recv(END)
        if not part:
            return None
        text += part
    return json.loads(text)


def serve(alive, listener, wake):
    """Answers requests until ncugate ends. Returns only in a forked process, with its request."""
    calls, parent = [], os.getpid()
    while True:
        own = {call.connection: call for call in calls}
        pipes = [pipe for call in calls for pipe in call.pipes]
        ready, _, _ = select.select([alive, listener, wake, *own, *pipes], [], [])
        if alive in ready:
            for call in calls:
                call.end()
            shutil.rmtree(OWN, ignore_errors=True)
            os._exit(0)
        if wake in ready:
            os.read(wake, END)
        for call in calls:
            call.read()
        for call in [call for call in calls if call.has_ended()]:
            calls.remove(call)
            call.reply()
        for call in [own[one] for one in ready if one in own and own[one] in calls]:
            calls.remove(call)
            call.end()
            call.connection.close()
        if listener in ready:
            connection, _ = listener.accept()
            try:
                asked = request(connection)
            except (OSError, ValueError):
                asked = None
            if asked is None:
                connection.close()
                continue
            call = Call(connection)
            if call.pid != 0:
                calls.append(call)
                continue
            group(0)
            ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGIO, signal.SIG_DFL)
            for one in [alive, wake, *(pipe for other in [call, *calls] for pipe in other.pipes)]:
                os.close(one)
            for one in [listener, connection, *(other.connection for other in calls)]:
                one.close()
            return asked


def said(error):
    """The status of a process that ends with an error, after printing it as the interpreter does."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    trace = error.__traceback__
    while trace.tb_next is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == OWN:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)
    return 1


def prepare(path, alive):
    """The module of a file; None if a forked process would differ from a fresh interpreter."""
    # The signal of a closed pipe ends an import that hangs.
    fcntl.fcntl(alive, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(alive, fcntl.F_SETFL, fcntl.fcntl(alive, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([alive], [], [], 0)[0]:
        return None
    before = Import(path)
    module = load(path)
    return module if before.can_fork() else None


def main(path):
    alive, null = os.dup(0), os.open(os.devnull, os.O_RDWR)
    try:
        listener = socket.socket(fileno=os.dup(1))
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.close(null)
        module = prepare(path, alive)
    except BaseException:  # noqa: BLE001  (each call reports it)
        module = None
    if module is None:
        shutil.rmtree(OWN, ignore_errors=True)
        os._exit(0)
    wake, waker = os.pipe()
    for pipe in (wake, waker):
        os.set_blocking(pipe, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    asked = serve(alive, listener, wake)
    os.close(waker)
    status = 1
    try:
        os.chdir(asked["folder"])
        if asked["gpus"] is not None:
            os.environ["CUDA_VISIBLE_DEVICES"] = asked["gpus"]
        random.seed()
        np.random.seed()
        answer(pathlib.Path(asked["call"]), function(module, path, asked["function"]), asked["function"])
        status = 0
    except BaseException as error:  # noqa: BLE001  (its text is the answer)
        status = said(error)
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            # Finalization would join threads that a forked process does not have.
            os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1])
