# %% [markdown]
# # From votes to a trained reward model with TRL
#
# People compare answers; duelist chooses the pairs and exports them in the format of TRL; TRL's `RewardTrainer` trains a
# model. The model and the tokenizer are made here and are tiny, so that nothing is downloaded and training takes a
# minute on a processor. For real work, replace `tiny_model` by the name of a model.
#
# Needs `pip install 'duelist[study,plots]' trl`.

# %%
import os
from pathlib import Path

import numpy as np

import duelist as dl

OUT = Path("out/examples")
OUT.mkdir(parents=True, exist_ok=True)
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HOME": str(OUT / "huggingface")}

# %% [markdown]
# The data: answers to eight questions, which are kind or not, and give a reason or not. People like both. Twelve people
# compare pairs, and the votes become a file of preferences.

# %%
questions = [
    f"How do I {task}?" for task in ("bake bread", "fix a bike", "sew", "swim", "draw", "sing", "ski", "garden")
]
kind = {"Gladly.": 1.0, "Sure.": 0.4, "Figure it out.": -1.0}
reason = {"Because practice matters, begin small.": 1.2, "Begin small.": 0.3, "Whatever.": -1.0}
answers = {f"{a} {b}": kind[a] + reason[b] for a in kind for b in reason}

study = dl.create_study("answers", storage="memory", goal="learn", seed=1)
parts = [list(kind), list(reason)]
for number, question in enumerate(questions):
    features = np.array([[float(part in text) for group in parts for part in group] for text in answers])
    study.add_arms(
        [f"{number}-{k}" for k in range(len(answers))], features, list(answers), contexts=question,
        context_payloads={question: question},
    )  # fmt: skip
rng = np.random.default_rng(0)
for k in range(300):
    duel = study.ask(f"rater {k % 12}")
    gap = 2.0 * (answers[duel.first.payload] - answers[duel.second.payload])
    study.tell(duel, "first" if rng.random() < 1 / (1 + np.exp(-gap)) else "second", f"rater {k % 12}")
print(study.export(OUT / "preferences.jsonl", "trl"))

# %% [markdown]
# A tokenizer that knows the words of the file, and a small transformer with one output.


# %%
def tiny_model(texts):
    """Return a tokenizer and a model for these texts."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForSequenceClassification, PreTrainedTokenizerFast, set_seed

    set_seed(0)
    pieces = pre_tokenizers.Whitespace()
    words = sorted({word for text in texts for word, _ in pieces.pre_tokenize_str(text)})
    inner = Tokenizer(
        models.WordLevel({word: k for k, word in enumerate(["<pad>", "<eos>", "<unk>", *words])}, "<unk>")
    )
    inner.pre_tokenizer = pieces
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=64, num_labels=1, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    return tokenizer, LlamaForSequenceClassification(config)


# %%
def main():
    """Train the reward model, and compare its scores with what people like."""
    import torch
    from datasets import load_dataset
    from matplotlib.figure import Figure
    from trl import RewardConfig, RewardTrainer

    data = load_dataset("json", data_files=str(OUT / "preferences.jsonl"), split="train", cache_dir=str(OUT / "cache"))
    data = data.select_columns(["prompt", "chosen", "rejected"])
    data = data.map(lambda row: {name: " " + row[name] for name in ("chosen", "rejected")})
    tokenizer, model = tiny_model([*questions, *answers])
    config = RewardConfig(
        output_dir=str(OUT / "reward_model"), per_device_train_batch_size=32, num_train_epochs=6, learning_rate=5e-3,
        logging_strategy="no", save_strategy="no", report_to="none", use_cpu=True, bf16=False, disable_tqdm=True, seed=0,
    )  # fmt: skip
    RewardTrainer(model=model, args=config, train_dataset=data, processing_class=tokenizer).train()

    texts = [f"{question} {answer}<eos>" for question in questions for answer in answers]
    batch = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
    with torch.no_grad():
        given = {name: batch[name] for name in ("input_ids", "attention_mask")}
        score = model.eval()(**given).logits[:, 0].numpy().reshape(len(questions), -1).mean(axis=0)
    liked = np.array(list(answers.values()))
    print(f"correlation of scores and likings: {np.corrcoef(score, liked)[0, 1]:.2f}")
    for k in np.argsort(-score):
        print(f"{score[k]:+.1f}  {list(answers)[k]}")

    figure = Figure(figsize=(6, 4), layout="constrained")
    ax = figure.subplots()
    ax.plot(liked, score, "o")
    ax.set(xlabel="what people like", ylabel="score of the reward model")
    figure.savefig(OUT / "reward_model.png", dpi=120)


if __name__ == "__main__":
    main()
