"""The same work with the bare ``openai`` client, written as its documentation shows, and the floor below it.

Every system sends the same instructions and tools, keeps its connection, and gets the same answers.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openai import AsyncOpenAI

MODEL = "loopback"
ENCRYPTED: Any = ["reasoning.encrypted_content"]
"""Asked for by whoever keeps a conversation on this side."""

Say = Callable[[str], Awaitable[str]]
"""Runs once over what a user says, to the answer."""


@dataclass(frozen=True)
class Bare:
    """An agent without us.

    Attributes:
        client: The client.
        instructions: What the model is told.
        tools: The tools as the Responses API takes them.
        functions: What the tools do, by their names.
    """

    client: AsyncOpenAI
    instructions: str
    tools: list[Any]
    functions: Mapping[str, Callable[..., str]]

    async def responses(self, text: str) -> str:
        items: list[Any] = [{"role": "user", "content": text}]
        while True:
            response = await self.client.responses.create(
                model=MODEL,
                instructions=self.instructions,
                input=items,
                tools=self.tools,
                include=ENCRYPTED,
                store=False,
            )
            items += response.output
            if not self._answer(response.output, items):
                return response.output_text

    async def responses_streamed(self, text: str) -> str:
        items: list[Any] = [{"role": "user", "content": text}]
        while True:
            stream = await self.client.responses.create(
                model=MODEL,
                instructions=self.instructions,
                input=items,
                tools=self.tools,
                include=ENCRYPTED,
                store=False,
                stream=True,
            )
            said = ""
            output: list[Any] = []
            async for event in stream:
                if event.type == "response.output_text.delta":
                    said += event.delta
                elif event.type == "response.completed":
                    output = event.response.output
            items += output
            if not self._answer(output, items):
                return said

    async def chat(self, text: str) -> str:
        messages: list[Any] = [
            {"role": "system", "content": self.instructions},
            {"role": "user", "content": text},
        ]
        tools: Any = self.chat_tools()
        while True:
            completion = await self.client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
            message = completion.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return message.content or ""
            for call in message.tool_calls:
                assert call.type == "function"
                output = self.functions[call.function.name](**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": output})

    async def chat_streamed(self, text: str) -> str:
        messages: list[Any] = [
            {"role": "system", "content": self.instructions},
            {"role": "user", "content": text},
        ]
        tools: Any = self.chat_tools()
        while True:
            stream = await self.client.chat.completions.create(
                model=MODEL, messages=messages, tools=tools, stream=True, stream_options={"include_usage": True}
            )
            said = ""
            calls: dict[int, dict[str, Any]] = {}
            async for chunk in stream:
                if not chunk.choices:
                    continue
                delta = chunk.choices[0].delta
                said += delta.content or ""
                for piece in delta.tool_calls or ():
                    known = calls.setdefault(piece.index, {"id": piece.id, "name": "", "arguments": ""})
                    if piece.function is not None:
                        known["name"] += piece.function.name or ""
                        known["arguments"] += piece.function.arguments or ""
            if not calls:
                return said
            made = [
                {
                    "id": call["id"],
                    "type": "function",
                    "function": {"name": call["name"], "arguments": call["arguments"]},
                }
                for call in calls.values()
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": made})
            for call in calls.values():
                output = self.functions[call["name"]](**json.loads(call["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})

    async def post(self, text: str) -> str:
        """The floor of the Responses API: plain JSON in and out, through the same client."""
        items: list[Any] = [{"role": "user", "content": text}]
        while True:
            body = {
                "model": MODEL,
                "instructions": self.instructions,
                "input": items,
                "tools": self.tools,
                "include": ENCRYPTED,
                "store": False,
            }
            response: Any = await self.client.post("/responses", body=body, cast_to=object)
            output = response["output"]
            items += output
            calls = [item for item in output if item["type"] == "function_call"]
            if not calls:
                return output[-1]["content"][0]["text"]
            for call in calls:
                made = self.functions[call["name"]](**json.loads(call["arguments"]))
                items.append({"type": "function_call_output", "call_id": call["call_id"], "output": made})

    async def chat_post(self, text: str) -> str:
        """The floor of Chat Completions."""
        messages: list[Any] = [
            {"role": "system", "content": self.instructions},
            {"role": "user", "content": text},
        ]
        tools = self.chat_tools()
        while True:
            body = {"model": MODEL, "messages": messages, "tools": tools}
            completion: Any = await self.client.post("/chat/completions", body=body, cast_to=object)
            message = completion["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                return message["content"]
            for call in message["tool_calls"]:
                made = self.functions[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": made})

    def chat_tools(self) -> list[dict[str, Any]]:
        """The tools as Chat Completions takes them."""
        return [
            {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}
            for tool in self.tools
        ]

    def _answer(self, output: list[Any], items: list[Any]) -> bool:
        """Adds the answers to the calls of a response; whether there were any."""
        calls = [item for item in output if item.type == "function_call"]
        for call in calls:
            made = self.functions[call.name](**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": made})
        return bool(calls)
