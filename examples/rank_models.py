# %% [markdown]
# # Rank language models on prompts
#
# You have the answers of several models to the same prompts, and people who compare two answers. No features are
# needed. The study chooses which two models to show next and on which prompt, and ranks the models over all prompts.
#
# Needs `pip install 'duelist[study,plots]'`.

# %%
from pathlib import Path

import numpy as np

import duelist as dl

OUT = Path("out/examples")
OUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# The data: six models answer 15 prompts of two categories. Put your own texts here. `quality` is what people like; it
# serves to simulate votes and is unknown to the study.

# %%
quality = {"swan": 1.3, "heron": 1.0, "crane": 0.4, "finch": 0.0, "robin": -0.3, "wren": -1.0}
prompts = [f"Explain {topic} to a child." for topic in ("rain", "wind", "snow", "tides", "stars", "the moon")]
prompts += [
    f"Write a {form} about {topic}." for form in ("haiku", "joke", "toast") for topic in ("tea", "trains", "cats")
]
models = list(quality)

study = dl.create_study("models", storage="memory", goal="rank", seed=1)
study.add_arms(
    [f"{model} / {prompt}" for prompt in prompts for model in models],
    payloads=[f"({model}) Here is my answer: {prompt.lower()}" for prompt in prompts for model in models],
    contexts=[prompt for prompt in prompts for _ in models],
    systems=models * len(prompts),
    categories=["explain" if "Explain" in prompt else "write" for prompt in prompts for _ in models],
)
print(study)

# %% [markdown]
# Twenty people vote. In your study they do so in the browser (`duelist serve`) or in your product.

# %%
rng = np.random.default_rng(0)
for k in range(400):
    rater = f"rater {k % 20}"
    duel = study.ask(rater)
    gap = quality[duel.first.system] - quality[duel.second.system]
    outcome = "tie" if rng.random() < 0.15 else "first" if rng.random() < 1 / (1 + np.exp(-gap)) else "second"
    study.tell(duel, outcome, rater)

# %% [markdown]
# The leaderboard has intervals that take into account that votes of one rater, and votes on one prompt, depend on each
# other, and a range of ranks for every model.

# %%
board = study.leaderboard()
print(board)
print(study.leaderboard_by_category())
print(study.can_stop())

# %%
study.plot_leaderboard(path=OUT / "rank_models.png")
