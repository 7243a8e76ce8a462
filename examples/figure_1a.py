# %% [markdown]
# # Reproduce a panel of figure 1a, and change one thing
#
# The paper compares VACDB with three other policies on a hypercube, with radii that its experiments scale. Here all
# policies have the library's default settings; `duelist reproduce figure-1a` repeats the paper's settings and tunes all
# policies alike. Then one thing changes: utilities become four times as large, so that votes vary less.
#
# Needs `pip install 'duelist[plots]'`.

# %%
from pathlib import Path

from matplotlib.figure import Figure

import duelist as dl

OUT = Path("out/examples")
OUT.mkdir(parents=True, exist_ok=True)
HORIZON, RUNS = 2000, 24


def policies():
    """Return the policies of the figure, and LocalPairUCB."""
    kinds = (dl.VACDB, dl.MaxInP, dl.MaxPairUCB, dl.CoLSTIM, dl.LocalPairUCB)
    return [kind(horizon=HORIZON) for kind in kinds]


# %% [markdown]
# Every policy plays in the same worlds with the same random numbers, so differences are taken run by run.

# %%
as_in_the_paper = dl.simulate(policies(), dl.environments.Hypercube(dim=5), HORIZON, RUNS, seed=0)
print(as_in_the_paper.summary())

# %%
changed = dl.simulate(policies(), dl.environments.Hypercube(dim=5, scale=4), HORIZON, RUNS, seed=0)
print(changed.summary())

# %%
figure = Figure(figsize=(12, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
as_in_the_paper.plot(left).set_title("unit θ*")
changed.plot(right).set_title("θ* four times as large")
figure.savefig(OUT / "figure_1a.png", dpi=120)
figure
