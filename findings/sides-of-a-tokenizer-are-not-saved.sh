#!/usr/bin/env bash
# transformers 5 does not save on which side a tokenizer pads and cuts.
#
# Versions: transformers 5.23.0, tokenizers 0.23.3.
# Expected: after tokenizer.truncation_side = "left" and tokenizer.padding_side = "left", a tokenizer that is saved with
# save_pretrained and loaded again cuts and pads on the left.
# Seen: neither is in tokenizer_config.json. The loaded tokenizer pads on the right, and cuts on the right unless the
# saved one had been called with truncation=True before, which leaves the direction in tokenizer.json. A classifier of
# dialogues that keeps the end of a long text reads its beginning after it was saved and loaded.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 tokenizers==0.23.3
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers


def sides(called: bool) -> tuple[str, str]:
    words = ["[PAD]", "[UNK]", "first", "last"]
    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]")
    tokenizer.truncation_side = tokenizer.padding_side = "left"
    if called:
        assert tokenizer("first last", truncation=True, max_length=1)["input_ids"] == [3]
    tokenizer.save_pretrained(f"called-{called}")
    loaded = transformers.AutoTokenizer.from_pretrained(f"called-{called}")
    return loaded.truncation_side, loaded.padding_side


print(transformers.__version__, sides(called=False), sides(called=True))
assert sides(called=False) == ("right", "right"), "the behaviour has changed"
assert sides(called=True) == ("left", "right"), "the behaviour has changed"
PYTHON
