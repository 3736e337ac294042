#!/usr/bin/env bash
# A generic fast tokenizer of transformers 5 does not hand out the segments of a pair, though its template has them.
#
# Versions: transformers 5.23.0, tokenizers 0.23.3.
# Expected: tokenizer(first, second) of a PreTrainedTokenizerFast, whose template gives the second text segment 1, has
# token_type_ids, as in version 4.
# Seen: only input_ids and attention_mask, also after save_pretrained and AutoTokenizer. A BERT classifier of pairs then
# takes all segments for 0 and gives other probabilities. With return_token_type_ids=True the segments are there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 tokenizers==0.23.3
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "film", "is", "good"]
core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
core.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
)
special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
transformers.PreTrainedTokenizerFast(tokenizer_object=core, **special).save_pretrained(".")
loaded = transformers.AutoTokenizer.from_pretrained(".")
plain, asked = loaded("a film", "is good"), loaded("a film", "is good", return_token_type_ids=True)
print(transformers.__version__, sorted(plain), asked["token_type_ids"])
assert sorted(plain) == ["attention_mask", "input_ids"], "the behaviour has changed"
assert asked["token_type_ids"] == [0, 0, 0, 0, 1, 1, 1]
PYTHON
