"""Checks that manual pages and completions know every option of --help-all.

usage: check_documents.py MPC FOLDER
"""

import pathlib
import re
import shutil
import subprocess
import sys

mpc, folder = sys.argv[1], pathlib.Path(sys.argv[2])
fish = (folder / "fish/vendor_completions.d/mpc.fish").read_text()
zsh = (folder / "zsh/site-functions/_mpc").read_text()
bash = (folder / "bash-completion/completions/mpc").read_text()
for page in sorted((folder / "man/man1").iterdir()):
    text = page.read_text().replace("\\-", "-")
    command = page.stem.split("-")[1:]
    help_text = ""
    for flag in ("--help-all", "--help"):
        result = subprocess.run([mpc, *command, flag], capture_output=True, text=True)
        if result.returncode == 0:
            help_text = result.stdout
            break
    flags = re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)", help_text, re.M)
    assert len(flags) >= 1, page
    # How libraries name options is nothing for users.
    assert "option '" not in help_text + text, page
    for flag in flags:
        assert f"\\fB{flag}\\fR" in text, (page, flag)
        for completion in (bash, zsh):
            assert flag in completion, (page, flag)
        assert f" -l {flag[2:]} " in fish, (page, flag)
    # Lines that begin with a point are requests; these are all there are.
    requests = set(re.findall(r"^\.(\w+)", text, re.M))
    assert requests <= {"TH", "SH", "TP"}, requests
for shell, script in (("bash", "bash-completion/completions/mpc"), ("zsh", "zsh/site-functions/_mpc"), ("fish", "fish/vendor_completions.d/mpc.fish")):
    if shutil.which(shell):
        subprocess.run([shell, "-n", folder / script], check=True)
