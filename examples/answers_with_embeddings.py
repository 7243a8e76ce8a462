# %% [markdown]
# # Find the best answers among many, with embeddings
#
# There are too many answers to compare all pairs. With an embedding of every answer, a vote also informs about similar
# answers. Any encoder will do: here, scikit-learn embeds the texts by their words, so that the example needs no
# language model. `duelist.study.plan_items(file, features="embedded")` uses a small one.
#
# Needs `pip install 'duelist[study,text,plots]'`.

# %%
import warnings
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import duelist as dl

OUT = Path("out/examples")
OUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# The data: 160 answers to "Why should I back up my files?", put together from parts. People like a reason and a next
# step, and dislike blame. This is unknown to the study.

# %%
starts = ["Disks fail.", "Laptops get stolen.", "You should know this.", "Everybody makes mistakes.", "It depends."]
reasons = ["Photos cannot be bought again.", "Work of years is gone in a second.", "Ask your administrator.", ""]
steps = ["Start with one folder tonight.", "Copy everything to a second disk.", "It is your own fault.", "Good luck."]
styles = ["", "In short: back up."]
answers = [" ".join(f"{a} {b} {c} {d}".split()) for a in starts for b in reasons for c in steps for d in styles]
liked = np.array(
    [
        2.0 * ("Photos" in text or "Work" in text)
        + 2.0 * ("Start" in text or "Copy" in text)
        - 1.5 * ("fault" in text or "You should know" in text)
        for text in answers
    ]
)

# %%
embedding = TruncatedSVD(16, random_state=0).fit_transform(TfidfVectorizer().fit_transform(answers))
print(f"{len(answers)} answers, {embedding.shape[1]} features each")

# %% [markdown]
# Two studies with the same 150 votes per study: one knows the embedding, the other does not.

# %%


def collect(features, votes=150):
    """Return a study after these votes, and the mean liking of its ten best answers after every 30 votes."""
    study = dl.create_study("answers", storage="memory", goal="best", seed=3)
    study.add_arms([f"answer {k}" for k in range(len(answers))], features, payloads=answers)
    rng, found = np.random.default_rng(0), []
    for k in range(votes):
        rater = f"rater {k % 10}"
        duel = study.ask(rater)
        gap = liked[duel.first.number] - liked[duel.second.number]
        study.tell(duel, "first" if rng.random() < 1 / (1 + np.exp(-gap)) else "second", rater)
        if k % 30 == 29:
            with warnings.catch_warnings():  # after few votes, some answers were not compared with the others
                warnings.simplefilter("ignore", dl.errors.DisconnectedArms)
                top = [int(row.arm.split()[1]) for row in study.leaderboard(top=10).standings]
            found.append(liked[top].mean())
    return study, found


with_embedding, curve = collect(embedding)
_, plain = collect(None)
for row in with_embedding.leaderboard(top=3).standings:
    print(f"{row.utility:+.1f}  {answers[int(row.arm.split()[1])]}")

# %%
from matplotlib.figure import Figure  # noqa: E402

figure = Figure(figsize=(7, 4), layout="constrained")
ax = figure.subplots()
votes = np.arange(30, 180, 30)
ax.plot(votes, curve, "o-", label="with the embedding")
ax.plot(votes, plain, "o-", label="without")
ax.axhline(np.sort(liked)[-10:].mean(), color="grey", linestyle=":", label="the ten best of all")
ax.set(xlabel="votes", ylabel="liking of the ten best found\n(higher is better)")
ax.legend(frameon=False)
figure.savefig(OUT / "answers_with_embeddings.png", dpi=120)
figure
