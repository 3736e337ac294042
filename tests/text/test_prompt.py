"""Texts within prompts: the same tokens as the whole prompt has, the text's own found again, cut at its own end."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explainlab.errors import TextError
from explainlab.limits import Limits
from explainlab.text.encoding import Encoding
from explainlab.text.prompt import Prompt, encode_prompted, ids_within
from explainlab.text.units import group
from tests.zoo import tokenizer_of

PROMPT = Prompt(("Is a film good? It is: ", 0, "\nso:"))
PAIR = Prompt(("one: ", 0, " two: ", 1, " so:"))
TEXT = "A funny film. It isn't good!"

kinds = pytest.mark.parametrize("kind", ["gpt2", "llama", "t5", "bert"])


def encoded(kind: str, text: str = TEXT, pair: str | None = None, prompt: Prompt = PROMPT, limit: int = 99) -> Encoding:
    return encode_prompted(tokenizer_of(kind), prompt, text, pair, limit, Limits(max_characters=1000))


def content(encoding: Encoding, part: int = 0) -> list[str]:
    """The characters of each token of the text."""
    own = encoding.content & (encoding.parts == part)
    return [encoding.part_text(part)[a:b] for a, b in encoding.offsets[own].tolist()]


@kinds
def test_tokens_are_those_of_the_whole_prompt(kind: str) -> None:
    encoding = encoded(kind)
    whole = tokenizer_of(kind)(PROMPT.rendered([TEXT])[0])["input_ids"]
    ends = 1 if kind in ("t5", "bert") else 0  # these tokenizers add an end, which would stand before the answer
    assert encoding.ids.tolist() == whole[: len(whole) - ends]
    assert encoding.cut == 0
    assert encoding.attention.all()


@kinds
def test_the_text_is_found_again(kind: str) -> None:
    encoding = encoded(kind)
    assert "".join(content(encoding)).replace(" ", "") == TEXT.replace(" ", "")
    around = "".join(said for said in encoding.prompt if said is not None)
    assert around.replace(" ", "") == "Isafilmgood?Itis:\nso:"
    for special, said, piece in zip(encoding.special, encoding.prompt, encoding.pieces, strict=True):
        assert special == (said is not None or piece in ("[CLS]", "<|begin_of_text|>"))
    assert encoding.special[-1]
    assert encoding.prompt[-1] is not None


@kinds
def test_features_are_the_texts_and_the_prompts(kind: str) -> None:
    units = group(encoded(kind), "word")
    words = [units.features[i].text for i in units.content]
    assert words == ["A", "funny", "film", ".", "It", "isn't", "good", "!"]
    assert all(feature.special for feature in units.features if feature.prompt)
    markers = [feature.text for feature in units.features if feature.special and not feature.prompt]
    assert markers == {"llama": ["<|begin_of_text|>"], "bert": ["[CLS]"]}.get(kind, [])
    removable = [units.features[i] for i in units.removable]
    assert removable == [feature for feature in units.features if not feature.prompt]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip))
def test_any_text_keeps_its_place(text: str) -> None:
    """Each content token lies in the text, in order; the text loses nothing to the prompt around it."""
    encoding = encoded("llama", text)
    spans = encoding.offsets[encoding.content].tolist()
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert spans == sorted(spans)
    said = "".join(piece for piece in encoding.prompt if piece)
    assert said.replace(" ", "").startswith("Isafilmgood?Itis:")
    assert said.endswith("so:")


def test_a_text_is_no_template() -> None:
    text = "a {text} film {text_pair}"
    assert "".join(content(encoded("gpt2", text))).replace(" ", "") == text.replace(" ", "")
    whole, spans = PROMPT.rendered([text])
    assert whole == f"Is a film good? It is: {text}\nso:"
    assert whole[slice(*spans[0])] == text


@pytest.mark.parametrize(
    ("prompt", "text", "own"),
    [
        (Prompt(("it is ", 0, " so:")), "good", ["good"]),
        (Prompt(("a goo", 0, " so:")), "d film", [" film"]),
        (Prompt(("a g", 0, " so:")), "ood film", ["ood", " film"]),
        (Prompt(("a ", 0, "d so:")), "goo", ["goo"]),
        (Prompt(("a ", 0, "ood so:")), "film g", ["film"]),
    ],
)
def test_a_token_on_the_border_goes_with_most_of_it(prompt: Prompt, text: str, own: list[str]) -> None:
    """' good' and ' film' are tokens; the blank before a word is not counted."""
    encoding = encoded("gpt2", text, prompt=prompt)
    assert [piece.strip() for piece in content(encoding)] == [piece.strip() for piece in own]


def test_a_text_without_a_token_of_its_own() -> None:
    with pytest.raises(TextError, match="no token to explain"):
        encoded("gpt2", "g", prompt=Prompt(("a ", 0, "ood so:")))


@kinds
@pytest.mark.parametrize("lost", [1, 3])
def test_a_long_text_loses_its_own_end(kind: str, lost: int) -> None:
    whole = encoded(kind)
    short = encoded(kind, limit=len(whole) - lost)
    assert (len(short), short.cut) == (len(whole) - lost, lost)
    assert content(short) == content(whole)[:-lost]
    assert [said for said in short.prompt if said] == [said for said in whole.prompt if said]
    assert short.pieces[-1] == whole.pieces[-1]


def test_a_long_text_loses_its_beginning_where_the_tokenizer_cuts_there() -> None:
    tokenizer = copy.deepcopy(tokenizer_of("llama"))
    tokenizer.truncation_side = "left"
    whole = encode_prompted(tokenizer, PROMPT, TEXT, None, 48, Limits(max_characters=1000))
    short = encode_prompted(tokenizer, PROMPT, TEXT, None, len(whole) - 3, Limits(max_characters=1000))
    assert (content(short), short.cut) == (content(whole)[3:], 3)
    assert ids_within(tokenizer, PROMPT, TEXT, None, len(whole) - 3)[0] == short.ids.tolist()


def test_of_a_pair_the_longer_text_is_cut() -> None:
    whole = encoded("llama", "a film", TEXT, PAIR)
    assert whole.parts[whole.content].tolist() == sorted(whole.parts[whole.content].tolist())
    assert "".join(content(whole, 1)).replace(" ", "") == TEXT.replace(" ", "")
    short = encoded("llama", "a film", TEXT, PAIR, limit=len(whole) - 4)
    assert content(short, 0) == content(whole, 0)
    assert content(short, 1) == content(whole, 1)[:-4]


def test_padding_is_no_prompt() -> None:
    encoding = encoded("llama")
    longer = encoding.padded(len(encoding) + 2, 0)
    assert longer.prompt == (*encoding.prompt, None, None)
    assert [f.prompt for f in group(longer, "token").features] == [f.prompt for f in group(encoding, "token").features]


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"text": " \n"}, "text is empty"),
        ({"text": "a", "pair": "b"}, "no place for a second text"),
        ({"text": "a", "prompt": PAIR}, "asks for a second text"),
        ({"text": "a", "pair": " ", "prompt": PAIR}, "second text is empty"),
        ({"text": "x" * 1001}, "The limit is 1,000"),
        ({"limit": 8}, r"The prompt takes \d+ of the 8 tokens"),
    ],
)
def test_what_cannot_be_encoded_is_told(options: dict, pattern: str) -> None:
    with pytest.raises(TextError, match=pattern):
        encoded("gpt2", **options)


@pytest.mark.parametrize(
    ("pieces", "goes_on"),
    [(("say: ", 0, " so:"), True), (("say: ", 0, "\n "), False), (("say: ", 0), False), ((0, ", ", 1, "?"), True)],
)
def test_whether_a_prompt_goes_on_after_the_text(pieces: tuple[str | int, ...], goes_on: bool) -> None:
    assert Prompt(pieces).goes_on is goes_on
