# %% [markdown]
# # Put ask and tell behind FastAPI
#
# Your product shows two variants and learns which one people prefer. Two endpoints are enough. The study is on disk: a
# vote is saved before `tell` returns, several processes may serve it, and a restart loses nothing.
#
# Needs `pip install 'duelist[server,client,plots]'`. Serve it with `uvicorn fastapi_service:app` in this folder.

# %%
from pathlib import Path
from typing import Literal

import numpy as np
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

import duelist as dl

OUT = Path("out/examples")
OUT.mkdir(parents=True, exist_ok=True)

headlines = {
    "Save time": "Save an hour every day",
    "Proof": "Trusted by 4,000 bakeries",
    "Question": "Still kneading by hand?",
    "Price": "From 9 euros a month",
    "Plain": "Software for bakeries",
}
study = dl.create_study("headlines", storage=f"sqlite:///{OUT / 'headlines.db'}", goal="best", load_if_exists=True)
if not study.arms():
    study.add_arms(list(headlines), payloads=list(headlines.values()))

# %% [markdown]
# The service. Endpoints without `async` run in FastAPI's threads; a study may be used from several.

# %%
app = FastAPI(title="headlines")


class Vote(BaseModel):
    """What the page sends back."""

    duel: int
    outcome: Literal["first", "second", "tie", "skip"]


@app.post("/ask")
def ask(visitor: str):
    """Return two headlines for this visitor, and the number to send back with the vote."""
    try:
        duel = study.ask(visitor)
    except dl.errors.NoPairsLeft as error:
        raise HTTPException(404, error.message) from error
    return {"duel": duel.id, "first": duel.first.payload, "second": duel.second.payload}


@app.post("/tell")
def tell(visitor: str, vote: Vote):
    """Save a vote. Sending it again changes nothing, so the page may retry."""
    try:
        study.tell(vote.duel, vote.outcome, visitor)
    except dl.errors.DuelistError as error:
        raise HTTPException(409, error.message) from error
    return {"saved": True}


@app.get("/best")
def best():
    """Return the recommended headline, and whether the study has decided."""
    found = study.recommend()
    return {"headline": headlines[found.best], "decided": found.decided, "votes": len(study)}


# %% [markdown]
# Try it: serve it on this machine, and let a hundred and twenty visitors vote twice each.


# %%
def main():
    """Play visitors against the service, and save a picture."""
    import threading
    import time

    import httpx
    import uvicorn

    liked = dict(zip(headlines.values(), (1.0, 0.7, 0.2, -0.2, -0.8), strict=True))
    rng = np.random.default_rng(0)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    page = httpx.Client(base_url=f"http://127.0.0.1:{port}")
    for k in range(240):
        visitor = {"visitor": f"visitor {k // 2}"}
        shown = page.post("/ask", params=visitor).json()
        gap = liked[shown["first"]] - liked[shown["second"]]
        outcome = "first" if rng.random() < 1 / (1 + np.exp(-gap)) else "second"
        answer = page.post("/tell", params=visitor, json={"duel": shown["duel"], "outcome": outcome})
        assert answer.json() == {"saved": True}, answer.text
    print(page.get("/best").json())
    page.close()
    server.should_exit = True
    thread.join()
    study.plot_history(path=OUT / "fastapi_service.png")


if __name__ == "__main__":
    main()
