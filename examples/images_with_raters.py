# %% [markdown]
# # Compare images, and check the raters
#
# A folder of images becomes a study. Some raters are careful, one votes at random and one always picks the left image.
# The table of raters shows them, and their votes can be excluded.
#
# Needs `pip install 'duelist[study,plots]'`.

# %%
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import duelist as dl
from duelist.study import plan_items

OUT = Path("out/examples")
FOLDER = OUT / "posters"
FOLDER.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# The data: eight posters, drawn here. Put your own image files into a folder instead.

# %%
likes = {
    "waves": 1.2,
    "rings": 0.8,
    "hills": 0.5,
    "stars": 0.2,
    "bars": -0.1,
    "dots": -0.4,
    "noise": -0.9,
    "plain": -1.3,
}
x = np.linspace(0, 4 * np.pi, 200)
rng = np.random.default_rng(0)
for number, name in enumerate(likes):
    figure = Figure(figsize=(1.5, 2))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_axis_off()
    color = f"C{number}"
    if name in ("waves", "hills", "bars"):
        for k in range(8):
            y = np.sin(x / (1 + k % 3)) if name != "bars" else np.zeros_like(x)
            ax.fill_between(x, k + 0.5 * y, k - 0.4, color=color, alpha=0.3 + 0.08 * k)
    elif name in ("rings", "dots", "stars", "noise"):
        place = rng.uniform(0, 1, (60, 2))
        ax.scatter(
            *place.T,
            s={"rings": 900, "dots": 60, "stars": 120, "noise": 4}[name],
            marker="*" if name == "stars" else "o",
            facecolor="none" if name == "rings" else color,
            edgecolor=color,
        )
    figure.savefig(FOLDER / f"{name}.png", dpi=60)

# %%
plan = plan_items(sorted(FOLDER.glob("*.png")))
study = dl.create_study("posters", storage="memory", goal="rank", items=plan, question="Which poster do you like more?")
print(study)
names = {arm.id: Path(arm.id).stem for arm in study.arms()}

# %% [markdown]
# Twelve raters vote. `rater 10` answers at random and `rater 11` always takes the left image. With 27 votes each, always taking one
# side is certain to be found; answers at random show as a low reliability, and are flagged once there are more votes.

# %%
for k in range(320):
    rater = f"rater {k % 12}"
    try:
        duel = study.ask(rater)
    except dl.errors.NoPairsLeft:  # this rater has seen all 28 pairs
        continue
    gap = likes[names[duel.first.id]] - likes[names[duel.second.id]]
    chance = {"rater 10": 0.5, "rater 11": 1.0}.get(rater, 1 / (1 + np.exp(-1.5 * gap)))
    study.tell(duel, "first" if rng.random() < chance else "second", rater, response_seconds=float(rng.gamma(4, 1.2)))

# %%
raters = study.raters()
print(raters)
print("careless:", ", ".join(raters.flagged))

# %% [markdown]
# The leaderboard without the votes of flagged raters. The owner can also exclude these votes for good, on the dashboard.

# %%
print(study.leaderboard(without=raters.flagged))
study.plot_raters(path=OUT / "images_with_raters.png")
