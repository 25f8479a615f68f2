//===- Completion.cpp - Completions for shells ----------------------------===//

#include "tools/mpc/options/Documents.h"

using namespace mpc::tool;

/// "compile", "checkpoint list"; "" for mpc itself.
static std::string pathOf(const CLI::App &command) {
  std::string path;
  for (const CLI::App *app = &command; app->get_parent();
       app = app->get_parent())
    path = app->get_name() + (path.empty() ? "" : " ") + path;
  return path;
}

static std::vector<const CLI::Option *> flagsOf(const CLI::App &command) {
  return command.get_options([](const CLI::Option *option) {
    return option->nonpositional() && !option->get_lnames().empty();
  });
}

static bool takesValue(const CLI::Option &option) {
  return option.get_items_expected_max() > 0;
}

static bool takesFolder(const CLI::Option &option) {
  std::string text = option.get_option_text();
  return text.find("DIR") != std::string::npos ||
         text.find("PATH") != std::string::npos;
}

static std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

static std::vector<std::string> namesOfSubs(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::App *sub : command.get_subcommands({}))
    names.push_back(sub->get_name());
  return names;
}

/// Quotes text with single quotes for a shell.
static std::string quote(const std::string &text) {
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

//===----------------------------------------------------------------------===//
// Bash
//===----------------------------------------------------------------------===//

std::string mpc::tool::bashCompletion(const CLI::App &app) {
  std::string subs, flags, words;
  for (const CLI::App *command : allCommands(app)) {
    std::string path = quote(pathOf(*command));
    if (std::vector<std::string> names = namesOfSubs(*command); !names.empty())
      subs += "    " + path + ") subs=" + quote(join(names)) + " ;;\n";
    std::vector<std::string> names;
    for (const CLI::Option *option : flagsOf(*command)) {
      std::string flag = "--" + option->get_lnames().front();
      names.push_back(flag + (takesValue(*option) ? "=" : ""));
      if (std::vector<std::string> known = wordsOf(*option); !known.empty())
        words += "    " + quote(pathOf(*command) + " " + flag) +
                 ") values=" + quote(join(known)) + " ;;\n";
    }
    flags += "    " + path + ") flags=" + quote(join(names)) + " ;;\n";
  }
  return R"(# Completion of mpc for bash; written by mpc itself.
_mpc() {
  local current=${COMP_WORDS[COMP_CWORD]} command= flag= word i
  local subs= flags= values=
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    case " $(_mpc_subs "$command") " in
    *" $word "*) command=${command:+$command }$word ;;
    *) break ;;
    esac
  done
  # Words are split at "=".
  [[ $current == "=" ]] && { flag=${COMP_WORDS[COMP_CWORD-1]}; current=; }
  [[ ${COMP_WORDS[COMP_CWORD-1]} == "=" ]] && flag=${COMP_WORDS[COMP_CWORD-2]}
  [[ -z $flag && ${COMP_WORDS[COMP_CWORD-1]} == --* ]] && flag=${COMP_WORDS[COMP_CWORD-1]}
  case "$command $flag" in
)" + words +
         R"(  esac
  if [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
    return
  fi
  if [[ $current == -* ]]; then
    case "$command" in
)" + flags +
         R"(    esac
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
    [[ ${COMPREPLY-} == *= ]] && compopt -o nospace
    return
  fi
  subs=$(_mpc_subs "$command")
  if [[ -n $subs ]]; then
    COMPREPLY=($(compgen -W "$subs" -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -f -- "$current"))
  compopt -o filenames
}
_mpc_subs() {
  local subs=
  case "$1" in
)" + subs +
         R"(  esac
  echo "$subs"
}
complete -F _mpc mpc
)";
}

//===----------------------------------------------------------------------===//
// Zsh
//===----------------------------------------------------------------------===//

/// Escapes text between brackets and colons of _arguments.
static std::string escapeZsh(const std::string &text) {
  std::string escaped;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\')
      escaped += '\\';
    escaped += c;
  }
  return escaped;
}

static std::string zshFunction(const CLI::App &command) {
  std::string name = pageName(command);
  std::string text = "_" + name + "() {\n";
  std::vector<std::string> subs = namesOfSubs(command);
  text += subs.empty()
              ? "  _arguments -S"
              : "  local curcontext=$curcontext state line\n  _arguments -C";
  for (const CLI::Option *option : flagsOf(command)) {
    std::string spec = "--" + option->get_lnames().front();
    if (takesValue(*option))
      spec += "=";
    spec += "[" + escapeZsh(option->get_description()) + "]";
    if (takesValue(*option)) {
      std::vector<std::string> words = wordsOf(*option);
      spec += ":" + escapeZsh(option->get_option_text()) + ":" +
              (!words.empty()         ? "(" + join(words) + ")"
               : takesFolder(*option) ? "_files -/"
                                      : "_files");
    }
    text += " \\\n    " + quote(spec);
  }
  if (subs.empty())
    return text + " \\\n    '*:file:_files'\n}\n";
  text += " \\\n    " + quote("1:command:(" + join(subs) + ")") +
          " \\\n    '*::argument:->rest'\n  case $state in\n  rest) case "
          "$line[1] in\n";
  for (const std::string &sub : subs)
    text += "    " + sub + ") _" + name + "-" + sub + " ;;\n";
  return text + "    esac ;;\n  esac\n}\n";
}

std::string mpc::tool::zshCompletion(const CLI::App &app) {
  std::string text = "#compdef mpc\n# Written by mpc itself.\n";
  for (const CLI::App *command : allCommands(app))
    text += zshFunction(*command);
  return text + "_mpc \"$@\"\n";
}

//===----------------------------------------------------------------------===//
// Fish
//===----------------------------------------------------------------------===//

/// The condition under which a command is being completed.
static std::string fishCondition(const CLI::App &command) {
  if (!command.get_parent())
    return "__fish_use_subcommand";
  std::string condition;
  for (const CLI::App *app = &command; app->get_parent();
       app = app->get_parent())
    condition = "__fish_seen_subcommand_from " + app->get_name() +
                (condition.empty() ? "" : "; and ") + condition;
  return condition;
}

std::string mpc::tool::fishCompletion(const CLI::App &app) {
  std::string text = "# Completion of mpc for fish; written by mpc itself.\n";
  for (const CLI::App *command : allCommands(app)) {
    std::string begin = "complete -c mpc -n " + quote(fishCondition(*command));
    for (const CLI::App *sub : command->get_subcommands({}))
      text += begin + " -f -a " + sub->get_name() + " -d " +
              quote(sub->get_description()) + "\n";
    for (const CLI::Option *option : flagsOf(*command)) {
      text += begin + " -l " + option->get_lnames().front();
      if (takesValue(*option)) {
        std::vector<std::string> words = wordsOf(*option);
        text += words.empty() ? " -r" : " -x -a " + quote(join(words));
      }
      text += " -d " + quote(option->get_description()) + "\n";
    }
  }
  return text;
}
