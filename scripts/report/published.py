"""Published figures, for comparison only: Table 1 and Figure 6(a) of the Layout Selection paper."""

# millions of cycles: Local, Greedy, Rule-Based, Solver-Based
TABLE = {
    "ALBERT-large": (53.4, 45.8, 44.7, 45.3),
    "BERT-base": (19.2, 19.3, 18.5, 18.5),
    "BERT-large": (29.0, 29.6, 28.7, 28.7),
    "BART-base": (2.4, 2.6, 2.4, 2.4),
    "DistilBART": (2.2, 2.3, 2.2, 2.1),
    "Electra-large": (23.2, 23.7, 23.0, 23.0),
    "Ministral-4B": (3.5, 3.5, 3.3, 3.5),
    "OLMo-7B": (51.1, 51.4, 50.1, 51.6),
    "VaultGemma-1B": (13.8, 10.2, 10.1, 10.1),
    "Whisper enc": (225, 226, 258, 225),
    "Whisper dec": (7.2, 7.1, 7.2, 7.2),
    "XLM-RoBERTa": (3.1, 3.1, 2.9, 2.9),
    "CNN": (1.8, 1.1, 0.9, 1.1),
    "FlexOlmo-7x7B": (146, 138, 139, 154),
    "Granite-3.1-3B": (184, 188, 198, 185),
    "Kosmos-2.5": (17.7, 23.0, 19.2, 17.3),
    "Language Perceiver": (462, 480, 346, 516),
    "MusicGen": (44.3, 27.0, 27.0, 38.5),
    "OLMoE-1B-7B": (100, 109, 96.5, 96.9),
    "PaLiGemma-3B": (10.8, 11.0, 11.7, 13.3),
    "Qwen2-Audio": (9.9, 9.9, 9.6, 9.9),
    "Qwen3-VL": (34.9, 31.6, 30.7, 35.9),
    "ResNet-50": (96.0, 73.5, 20.9, 63.9),
    "Vision Perceiver": (14.1, 14.8, 10.2, 11.3),
}

# per cent of graphs by treewidth 1 to 8
TREEWIDTH = (5.3, 54.2, 25.2, 7.6, 4.6, 1.5, 0.8, 0.8)


def key(name):
    """Names are compared by letters and digits alone."""
    return "".join(c for c in name.lower() if c.isalnum())


def title_of(name):
    """The published name of a configuration, or None; "(full)" marks a model at full depth in a larger suite."""
    return next((title for title in TABLE if key(title) == key(name.removesuffix(" (full)"))), None)
