"""Prints, warns, logs and raises the text of the query, in this thread and in others."""

import asyncio
import importlib
import logging
import sys
import threading
import time
import traceback
import warnings

import streamlit as st

text = st.query_params["text"]


def fail() -> None:
    raise ValueError(f"cannot read {text}")


async def forget() -> None:
    asyncio.get_running_loop().create_task(asyncio.to_thread(fail))
    await asyncio.sleep(0.1)


print(text)
print(f'{{"message": "{text}"}}', file=sys.stderr)
sys.stderr.write(f"half a line of {text}")
warnings.warn(text, stacklevel=1)
for name in ("a.library", "uvicorn.error", "streamlit.runtime"):
    logging.getLogger(name).error(text)
    logging.getLogger(name).error(f"{text} at %s", text)
    logging.getLogger(name).error("this is how it was written: %s", text)
late = importlib.import_module("streamlit.logger").get_logger("streamlit.made.late")
late.error("%s", text)
try:
    fail()
except ValueError:
    logging.getLogger("a.library").exception(text)
    traceback.print_exc()
thread = threading.Thread(target=fail)
thread.start()
thread.join()
asyncio.run(forget())
time.sleep(0.1)
fail()
