# %% [markdown]
# # Evaluate another policy on votes that you already have
#
# A study draws a share of its pairs at random and records their probabilities. From these votes you can estimate what
# another policy would have achieved, without asking anybody again.
#
# Needs `pip install 'duelist[study,plots]'`.

# %%
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import duelist as dl
from duelist.study.analysis.off_policy import off_policy

OUT = Path("out/examples")
OUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# The data: six onboarding screens with three features. Half of the pairs are drawn at random. `liked` is known only here.

# %%
rng = np.random.default_rng(4)
features = rng.normal(size=(6, 3))
liked = features @ [1.0, -0.7, 0.3]
study = dl.create_study("screens", storage="memory", random_share=0.5, repeat_pairs=0, seed=2)
study.add_arms([f"screen {k}" for k in range(6)], features)
for k in range(900):
    duel = study.ask(f"user {k % 60}")
    gap = liked[duel.first.number] - liked[duel.second.number]
    study.tell(duel, "first" if rng.random() < 1 / (1 + np.exp(-gap)) else "second", f"user {k % 60}")

# %% [markdown]
# Two candidates that you might switch to: show the two screens that a model likes best, or uniform pairs as now. How
# often does a screen that they show win against a random other one?

# %%
ids = [arm.id for arm in study.arms()]
best = sorted(range(6), key=lambda k: -liked[k])
candidates = {
    "the two best screens": {(ids[best[0]], ids[best[1]]): 1.0},
    "first and last": {(ids[best[0]], ids[best[-1]]): 1.0},
    "uniform pairs": {(ids[i], ids[j]): 1 / 30 for i in range(6) for j in range(6) if i != j},
}
strength = (1 / (1 + np.exp(liked - liked[:, None]))).sum(axis=1) / 5 - 0.1  # against a random other screen
rows = {}
for name, pairs in candidates.items():
    found = off_policy(study.votes(), ids, features, pairs, random_share=0.5, measure="strength")
    truth = sum(p * (strength[ids.index(a)] + strength[ids.index(b)]) / 2 for (a, b), p in pairs.items())
    rows[name] = (found.doubly_robust, truth)
    print(f"{name}\n{found}\n")

# %%
figure = Figure(figsize=(7, 2.6), layout="constrained")
ax = figure.subplots()
for height, (estimate, truth) in enumerate(rows.values()):
    ax.plot([estimate.low, estimate.high], [height, height], color="#0072b2", linewidth=2)
    ax.plot(estimate.value, height, "o", color="#0072b2", label="doubly robust estimate" if height == 0 else None)
    ax.plot(truth, height, "|", color="#d55e00", markersize=18, label="truth" if height == 0 else None)
ax.set_yticks(range(len(rows)), rows)
ax.set(xlabel="chance that a shown screen beats a random other one", ylim=(2.6, -0.6))
ax.legend(frameon=False, loc="lower right")
figure.savefig(OUT / "off_policy.png", dpi=120)
figure
