"""Third-party policies and an environment: importable by name, in plain Python."""

import os
import signal
import time
from pathlib import Path

import numpy as np

import duelist as dl
from duelist.model.links import get_link
from duelist.simulation.environments import Environment
from duelist.simulation.environments.base import World


class Coin(dl.Policy):
    """Two arms at random; takes a moment for each if asked to."""

    def __init__(self, seconds=0.0, random_state=None):
        self.seconds = seconds
        self.random_state = random_state
        self._rng = np.random.default_rng(random_state)

    def ask(self, arms):
        if self.seconds:
            time.sleep(self.seconds)
        return dl.Duel(*self._rng.integers(len(arms), size=2).tolist(), 0)

    def tell(self, duel, outcome, weight=1.0):
        pass


class Busy(Coin):
    """A coin that computes for some seconds of CPU time in its first round."""

    def ask(self, arms):
        duel = Coin.ask(self, arms) if not self.seconds else dl.Duel(0, 1, 0)
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        self.seconds = 0.0
        return duel


class Broken(Coin):
    """Raises in its third round."""

    def __init__(self, random_state=None):
        super().__init__(random_state=random_state)
        self._left = 3

    def ask(self, arms):
        self._left -= 1
        if not self._left:
            raise RuntimeError("no idea what to ask")
        return super().ask(arms)


class Meeting(Coin):
    """Plays on once two processes have signed a folder, or after ten seconds alone."""

    def __init__(self, folder, random_state=None):
        super().__init__(random_state=random_state)
        self.folder = folder

    def ask(self, arms):
        folder = Path(self.folder)
        (folder / str(os.getpid())).touch()
        end = time.monotonic() + 10
        while len(list(folder.iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        return super().ask(arms)


class Deadly(Coin):
    """Takes its process down: always, or only while a file is there, which it takes away."""

    def __init__(self, file="", random_state=None):
        super().__init__(random_state=random_state)
        self.file = file

    def ask(self, arms):
        if not self.file or Path(self.file).exists():
            if self.file:
                Path(self.file).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().ask(arms)


class TwoArms(Environment):
    """The second arm is better by `gap`."""

    def __init__(self, gap=1.0):
        self.gap = gap
        self.dim = 1
        self.link = get_link("logistic")

    def draw_world(self, rng):
        return World(np.array([self.gap]), np.array([[0.0], [1.0]]))
