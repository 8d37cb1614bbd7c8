"""An item's run as an MCP server over this process's standard input and output, by the official package.

The package is imported here alone, and this module only where a server is wanted: it costs a second.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from esac_ag import __version__
from esac_ag.conduct.suite_mcp import Episode
from esac_ag.errors import HarnessError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

NAME: Final = "esac-ag-suite"
PROMPT: Final = "task"
INSTRUCTIONS: Final = (
    "The prompt `task` holds a user's request. Carry it out with the tools, and end with `final_answer`."
)
_CALL: Final = "tools/call"


def serve(episode: Episode) -> None:
    """Speak with a client until it closes our standard input.

    Raises:
        HarnessError, OSError: what carries the tools out, or keeps the result, failed; the client was told,
            and went away since.
    """
    served = ItemServer(episode)
    anyio.run(served.run)
    if served.failure is not None:
        raise served.failure


class ItemServer:
    """Handlers of one connection.

    A call blocks the event loop: calls are carried out one after the other, in the order in which they came,
    and there is nothing else to do meanwhile. At the end of the input the package cancels what waits, and
    a call never does before it is carried out: whatever a client sent before it went away counts.
    """

    def __init__(self, episode: Episode) -> None:
        self._episode = episode
        self.failure: HarnessError | OSError | None = None
        self.server: Server[dict[str, Any]] = Server(
            NAME,
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
        )
        self.server.middleware.append(_as_received)

    async def run(self) -> None:
        """Serve until the input ends."""
        wire = io.TextIOWrapper(io.BufferedWriter(_ToClient(1, "wb", closefd=False)), encoding="utf-8")
        async with stdio_server(stdout=anyio.wrap_file(wire)) as (source, sink):
            await self.server.run(source, sink, self.server.create_initialization_options())

    async def _list_tools(
        self, _context: ServerRequestContext[dict[str, Any]], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=tool.parameters)
                for tool in self._episode.tools
            ]
        )

    async def _call_tool(
        self, _context: ServerRequestContext[dict[str, Any]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        given = params.arguments or {}
        if self.failure is None:
            try:
                answer = self._episode.call(given["name"], given["arguments"])
            except (HarnessError, OSError) as error:
                self.failure = error
            else:
                block = types.TextContent(type="text", text=answer.text)
                return types.CallToolResult(content=[block], is_error=not answer.ok)
        raise MCPError(code=types.INTERNAL_ERROR, message="the task cannot go on: its environment failed")

    async def _list_prompts(
        self, _context: ServerRequestContext[dict[str, Any]], _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt(name=PROMPT, description="The user's request.")])

    async def _get_prompt(
        self, _context: ServerRequestContext[dict[str, Any]], params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        if params.name != PROMPT:
            raise MCPError(code=types.INVALID_PARAMS, message=f"the only prompt is `{PROMPT}`")
        words = types.TextContent(type="text", text=self._episode.prompt)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=words)])


class _ToClient(io.FileIO):
    """Standard output. What a client that went away cannot be told is dropped, and is no failure of ours."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write what can be written."""
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


async def _as_received(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Wrap calls into well-formed ones: malformed ones the package would refuse, and the world never log."""
    if ctx.method != _CALL:
        return await call_next(ctx)
    params: Mapping[str, Any] = ctx.params or {}
    raw = {"name": params.get("name"), "arguments": params.get("arguments", {})}
    return await call_next(replace(ctx, params={**params, "name": _CALL, "arguments": raw}))
