# %% [markdown]
# # Rank items from an old spreadsheet of votes
#
# Years of votes in a spreadsheet, with the columns and habits of whoever kept it: semicolons, decimal commas, "A" and
# "B", names with spaces. Import it, see the ranking, and find out whether the model fits.
#
# Needs `pip install 'duelist[study,plots]'`, and `duelist[excel]` for an .xlsx file.

# %%
from pathlib import Path

import numpy as np

import duelist as dl

OUT = Path("out/examples")
OUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# The data: a file as a German spreadsheet program writes it, in an old encoding. Use your own file instead.

# %%
cheeses = {"Comté": 1.1, "Gruyère": 0.9, "Manchego": 0.5, "Gouda": 0.2, "Brie": 0.0, "Münster": -0.6, "Limburger": -1.4}
rng = np.random.default_rng(0)
lines = ["Datum;Prüfer;Käse 1;Käse 2;besser;Sekunden"]
for k in range(300):
    one, two = rng.choice(list(cheeses), 2, replace=False)
    chance = 1 / (1 + np.exp(cheeses[two] - cheeses[one]))
    better = rng.choice(["A", "B", "tie"], p=[0.9 * chance, 0.9 * (1 - chance), 0.1])
    seconds = f"{rng.gamma(4, 1.5):.1f}".replace(".", ",")
    lines.append(f"2019-03-{1 + k % 28:02}T12:00:00;{['Ana', 'Ben ', 'Zoë'][k % 3]};{one};{two};{better};{seconds}")
sheet = OUT / "old votes.csv"
sheet.write_bytes("\r\n".join(lines).encode("cp1252"))
print(sheet.read_bytes().decode("cp1252")[:220])

# %% [markdown]
# Say once which column is which. Nothing is imported unless every row can be read; an error names the row, the value
# and what is allowed.

# %%
study = dl.create_study("cheese", storage="memory", goal="rank")
how = {
    "encoding": "cp1252",
    "timezone": "Europe/Berlin",
    "columns": {
        "left": "Käse 1",
        "right": "Käse 2",
        "winner": "besser",
        "rater": "Prüfer",
        "voted_at": "Datum",
        "response_seconds": "Sekunden",
    },
}
print(study.import_votes(sheet, "csv", **how))
print(study.import_votes(sheet, "csv", **how))  # again: nothing is counted twice

# %%
print(study.leaderboard())
print(study.goodness_of_fit())
study.plot_win_matrix(path=OUT / "old_votes.png")
study.export(OUT / "votes.jsonl")
