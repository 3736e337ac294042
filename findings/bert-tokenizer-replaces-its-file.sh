#!/usr/bin/env bash
# transformers 5 does not read by the tokenizer.json of a BERT model: its normalizer and its pre-tokenizer are replaced.
#
# Versions: transformers 5.23.0, tokenizers 0.23.3.
# Expected: a directory with tokenizer.json and the class BertTokenizerFast is tokenised as the file says, as version 4
# did; here lower case alone, and pieces split at blanks alone.
# Seen: AutoTokenizer builds BERT's own normalizer and pre-tokenizer around the file's vocabulary, without a word. The
# file reads "Café Co-op" as café | co-op, the loaded tokenizer as cafe | co | - | op. A model that was trained with the
# file's tokens then predicts from others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 tokenizers==0.23.3
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import json
from pathlib import Path

import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "café", "co-op", "cafe", "co", "-", "op"]
own = Tokenizer(models.WordPiece({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
own.normalizer, own.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.WhitespaceSplit()
own.save("tokenizer.json")
Path("tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizerFast"}))
Path("config.json").write_text(json.dumps({"model_type": "bert"}))
loaded = transformers.AutoTokenizer.from_pretrained(".")
file_reads = own.encode("Café Co-op", add_special_tokens=False).tokens
loaded_reads = loaded.tokenize("Café Co-op")
print(transformers.__version__, file_reads, loaded_reads)
assert file_reads == ["café", "co-op"]
assert loaded_reads == ["cafe", "co", "-", "op"], "the behaviour has changed"
PYTHON
