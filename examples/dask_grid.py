# %% [markdown]
# # Run a grid on Dask
#
# A grid of policies, settings and environments, played by the workers of a Dask cluster. Here the cluster is on this
# machine; with the address of a scheduler, the same lines use a hundred machines. Interrupt it and run it again: only
# the missing cells are played.
#
# Needs `pip install 'duelist[cluster]'`.

# %%
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import duelist as dl
from duelist.research.experiments import Cluster, Experiment, Results, run_experiment, sweep

OUT = Path("out/examples")
OUT.mkdir(parents=True, exist_ok=True)

# %%
experiment = Experiment(
    policies=[
        sweep("VACDB", over={"scale": [0.25, 0.5, 1.0]}),
        sweep("LocalPairUCB", over={"scale": [0.5, 0.7, 1.0]}),
        dl.MaxInP(horizon=500),
    ],
    environments=[sweep("Hypercube", over={"scale": [0.5, 2.0]}, dim=4)],
    horizon=500,
    runs=16,
    runs_per_cell=8,
    name="scales",
)


# %% [markdown]
# Dask starts processes that import this file, so the work is under `if __name__ == "__main__":`.


# %%
def main():
    """Run the grid, print the best settings, and save a picture."""
    from distributed import Client, LocalCluster

    folder = tempfile.mkdtemp()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=folder) as cluster,
        Client(cluster),
    ):
        run_experiment(experiment, f"{folder}/scales", Cluster(cluster))
    results = Results(f"{folder}/scales")
    print(f"{results.finished} of {results.planned} cells finished")
    for found in results.best():
        print(f"{found.environment}: {found.label}, mean regret {found.mean:.0f} [{found.low:.0f}, {found.high:.0f}]")
    figure = Figure(figsize=(9, 4), layout="constrained")
    for ax, environment in zip(figure.subplots(1, 2), results.environments, strict=True):
        rows = results.compare(environment)
        heights = np.arange(len(rows))
        ax.hlines(heights, [row.low for row in rows], [row.high for row in rows])
        ax.plot([row.mean for row in rows], heights, "o")
        ax.set_yticks(heights, [row.policy for row in rows])
        ax.set(title=environment, xlabel="regret, 95 % interval (lower is better)", xlim=(0, None))
    figure.savefig(OUT / "dask_grid.png", dpi=120)


if __name__ == "__main__":
    main()
