"""A language model small enough to be made on the spot: it knows one call and one word by heart.

Its layers do nothing, so that what it says next hangs on the last token alone. It begins to call a tool when a person
spoke last, and says `Done.` when a tool did. How a call goes on, llama.cpp's grammar says, which it makes of the tools
that it was sent: so the schemas, the template and the parser of calls are used as with any other model.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

_WIDTH = 320
_HEADS = 5
_BEGIN, _END, _ASKED, _ANSWERED, _CALL, _CALLED = range(256, 262)
_SPECIAL = ("<|begin|>", "<|end|>", "<|asked|>", "<|answered|>", "<tool_call>", "</tool_call>")

_FOLLOWS = {
    _ASKED: _CALL,
    _CALL: ord("\n"),
    ord('"'): ord("l"),  # of the names of tools, `load_skill`
    _CALLED: _END,
    _ANSWERED: ord("D"),
    **{ord(one): ord(next_one) for one, next_one in ("Do", "on", "ne", "e.")},
    ord("."): _END,
}
"""What it says after what, wherever the grammar lets it."""

_TEMPLATE = """
{%- if tools %}<|begin|>system
Call a function as <tool_call>
{"name": NAME, "arguments": OBJECT}
</tool_call>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}<|end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "assistant" and message.tool_calls %}<|begin|>assistant
{%- if message.content %}
{{ message.content }}{% endif %}
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|end|>
{% else %}<|begin|>{{ message.role }}
{{ message.content }}<|end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|begin|>assistant
{% if messages[-1].role == "tool" %}<|answered|>{% else %}<|asked|>{% endif %}
{%- endif %}
"""


def write(path: Path) -> None:
    """Writes it as a GGUF file of the architecture `llama`."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(16384)
    writer.add_embedding_length(_WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_WIDTH // _HEADS)
    _add_tokenizer(writer)
    for name, tensor in _tensors().items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: gguf.GGUFWriter) -> None:
    """Every byte is a token, by the characters that GPT-2 writes for bytes."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    tokens = [*(chr(byte if byte in printable else next(others)) for byte in range(256)), *_SPECIAL]
    kinds = [gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL] * 4 + [gguf.TokenType.USER_DEFINED] * 2
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(_BEGIN)
    writer.add_eos_token_id(_END)
    writer.add_add_bos_token(False)
    writer.add_chat_template(_TEMPLATE)


def _tensors() -> dict[str, np.ndarray]:
    size = 256 + len(_SPECIAL)
    says = np.zeros((size, _WIDTH), np.float32)
    says[[*b" \t\r\n"]] = -1  # no white space without need: a grammar may take any amount of it
    for one, next_one in _FOLLOWS.items():
        says[next_one, one] = 10
    square = np.zeros((_WIDTH, _WIDTH), np.float32)
    wide = np.zeros((32, _WIDTH), np.float32)
    norm = np.ones(_WIDTH, np.float32)
    return {
        "token_embd.weight": np.eye(size, _WIDTH, dtype=np.float32),
        "output_norm.weight": norm,
        "output.weight": says,
        "blk.0.attn_norm.weight": norm,
        **{f"blk.0.attn_{part}.weight": square for part in ("q", "k", "v", "output")},
        "blk.0.ffn_norm.weight": norm,
        "blk.0.ffn_gate.weight": wide,
        "blk.0.ffn_up.weight": wide,
        "blk.0.ffn_down.weight": wide.T.copy(),
    }
