"""Checks that options.json lists every option of --help-all, as keywords that Python takes.

usage: check_keywords.py MPC FOLDER
"""
import json
import keyword
import pathlib
import re
import subprocess
import sys

mpc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
table = json.loads((folder / "doc/mpc/options.json").read_text())
version = subprocess.run([mpc, "--version"], capture_output=True, text=True, check=True).stdout
assert table["version"] in version, (table["version"], version)

pages = {page.stem for page in (folder / "man/man1").iterdir()}
commands = {command["command"]: command for command in table["commands"]}
assert set(commands) == pages, (set(commands) ^ pages)

FIELDS = {"keyword", "flag", "type", "list", "value", "choices", "default", "required", "group", "help"}
for name, command in commands.items():
    arguments = name.split("-")[1:]
    help_text = ""
    for flag in ("--help-all", "--help"):
        result = subprocess.run([mpc, *arguments, flag], capture_output=True, text=True)
        if result.returncode == 0:
            help_text = result.stdout
            break
    shown = set(re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)", help_text, re.M)) - {"--help", "--help-all"}
    listed = [option["flag"] for option in command["options"]]
    assert len(set(listed)) == len(listed), (name, listed)
    assert shown <= set(listed), (name, shown - set(listed))
    for option in command["options"]:
        assert set(option) <= FIELDS, (name, option)
        word = option["keyword"]
        assert word.isidentifier() and not keyword.iskeyword(word), (name, word)
        assert option["type"] in ("flag", "integer", "number", "text"), (name, option)
        assert (option["type"] == "flag") == ("value" not in option), (name, option)
        assert "--" not in option["help"] and option["help"], (name, option)
        # A default must be a value that the command takes.
        if option.get("default") and option["type"] == "integer" and not option["list"]:
            int(option["default"])
        if option.get("default") and "choices" in option:
            assert option["default"] in option["choices"], (name, option)
print(sum(len(command["options"]) for command in commands.values()), "keywords")
