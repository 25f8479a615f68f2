#!/usr/bin/env bash
# Builds the documentation as a static site with search that works offline:
# open build/docs/html/index.html.
#
# usage: tools/docs.sh [--help]
#
# Installs Sphinx (tools/docs/requirements.txt) into build/docs/venv if it is
# missing, which needs a network. MPC_BUILD_DIR names another build folder.
source "$(dirname "$0")/common.sh"

[ $# = 0 ] || refuse_or_help "$1" 8

docs=$build/docs
requirements=$root/tools/docs/requirements.txt

install_generator() {
  cmp -s "$requirements" "$docs/venv/requirements.txt" && { echo "    as it was"; return; }
  python3 -m venv "$docs/venv"
  "$docs/venv/bin/pip" install -qq --require-hashes -r "$requirements"
  cp "$requirements" "$docs/venv/requirements.txt"
}

build_html() {
  "$docs/venv/bin/sphinx-build" -q -W --keep-going -j auto -b html "$docs/pages" "$docs/html"
}

mkdir -p "$docs"
rm -rf "$docs/pages" "$docs/html"
step "Checking links" python3 "$root/tools/docs/check_links.py" "$root"
step "Gathering pages" python3 "$root/tools/docs/build_site.py" "$root" "$build" "$docs/pages"
step "Installing the generator" install_generator
step "Building the site" build_html
echo "$docs/html/index.html"
