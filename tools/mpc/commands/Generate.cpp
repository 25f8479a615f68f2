//===- Generate.cpp - mpc generate ----------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/Weights.h"
#include "tools/mpc/generation/LanguageModel.h"
#include "tools/mpc/generation/TokenSampler.h"
#include "tools/mpc/options/Checks.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

using namespace mpc::tool;

namespace {
struct GenerateCommand {
  std::string package, checkpoint, output;
  std::optional<std::string> prompt;
  std::vector<int64_t> ids; ///< The prompt as tokens.
  uint64_t count = 100, samples = 1;
  std::optional<int64_t> stop;
  bool json = false;
  SamplingSettings sampling;
  SessionSettings session;
  WeightsChoice weights;
};
using Tokens = std::vector<int64_t>;
} // namespace

/// Tokens that are bytes.
static Tokens tokensOf(const std::string &text) {
  return Tokens(reinterpret_cast<const unsigned char *>(text.data()),
                reinterpret_cast<const unsigned char *>(text.data()) +
                    text.size());
}

static std::string textOf(const Tokens &tokens) {
  return std::string(tokens.begin(), tokens.end());
}

/// Draws options.samples continuations of the prompt, without the token that
/// ends them.
static std::vector<Tokens> continuePrompt(LanguageModel &model,
                                          const Tokens &prompt,
                                          const GenerateCommand &options) {
  TokenSampler sampler(options.sampling);
  std::vector<Tokens> all;
  while (all.size() < options.samples) {
    size_t wanted =
        std::min<uint64_t>(options.samples - all.size(), model.texts());
    std::vector<Tokens> texts(model.texts(), prompt), found(wanted);
    std::vector<bool> hasEnded(wanted, false);
    for (uint64_t i = 0; i < options.count; ++i) {
      const std::vector<float> &logits = model.predict(texts);
      for (size_t b = 0; b < texts.size(); ++b) {
        // Texts that nobody wants repeat the prompt's first token.
        if (b >= wanted) {
          texts[b].push_back(prompt.front());
          continue;
        }
        int64_t token =
            sampler.draw(logits.data() + b * model.tokens(), model.tokens());
        texts[b].push_back(token);
        hasEnded[b] = hasEnded[b] || token == options.stop;
        if (!hasEnded[b])
          found[b].push_back(token);
      }
      if (std::find(hasEnded.begin(), hasEnded.end(), false) == hasEnded.end())
        break;
    }
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

/// Prints a sample: as text if the prompt is text, otherwise as numbers.
static void print(const GenerateCommand &options, const Tokens &prompt,
                  const Tokens &tokens) {
  nlohmann::ordered_json json;
  json["prompt"] = prompt;
  json["tokens"] = tokens;
  std::string text;
  if (options.prompt) {
    for (int64_t token : tokens)
      if (token > 255)
        throw Failure(Usage, "token " + std::to_string(token) +
                                 " is not a byte; this model has other tokens, "
                                 "so give the prompt with --prompt-ids");
    text = textOf(prompt) + textOf(tokens);
    json["text"] = printable(text, /*lines=*/true);
  } else {
    for (const Tokens *part : {&prompt, &tokens})
      for (int64_t token : *part)
        text += (text.empty() ? "" : " ") + std::to_string(token);
  }
  if (options.json)
    printJson(json);
  else
    printResult("%s\n", printable(text, /*lines=*/true).c_str());
}

static int runGenerate(const GenerateCommand &options) {
  if (options.prompt.has_value() == !options.ids.empty())
    throw Failure(Usage, "give either --prompt or --prompt-ids");
  Tokens prompt = options.prompt ? tokensOf(*options.prompt) : options.ids;
  if (prompt.empty())
    throw Failure(Usage, "--prompt is empty; the model needs a first token");
  Program program(options.package);
  Session session(program, options.session);
  if (options.checkpoint.empty())
    note("no --checkpoint given: using the initial weights");
  else
    session.load(options.checkpoint);
  options.weights.apply(session, program);
  LanguageModel model(session, program, options.output, options.samples);
  for (int64_t token : prompt)
    model.requireToken(token);
  if (options.stop)
    model.requireToken(*options.stop);
  model.requireCausal(prompt);
  uint64_t length = prompt.size() + options.count;
  if (length > static_cast<uint64_t>(model.length()))
    note(format("the text has up to %llu tokens, and the model reads the last "
                "%lld of them",
                static_cast<unsigned long long>(length),
                static_cast<long long>(model.length())));
  for (const Tokens &tokens : continuePrompt(model, prompt, options))
    print(options, prompt, tokens);
  return Ok;
}

Action mpc::tool::addGenerate(CLI::App &app) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App *generate = app.add_subcommand(
      "generate", "Continue a text with a trained language model");
  generate->add_option("package", options->package, "Compiled model (.mpc)")
      ->option_text("MODEL.mpc")
      ->required();
  generate
      ->add_option("--checkpoint", options->checkpoint,
                   "Weights: a checkpoint, or a folder of checkpoints")
      ->option_text("PATH");
  generate
      ->add_option("--prompt", options->prompt,
                   "Text to continue, for models whose tokens are bytes")
      ->option_text("TEXT");
  generate
      ->add_option("--prompt-ids", options->ids,
                   "Tokens to continue, for models with other tokens")
      ->delimiter(',')
      ->option_text("ID,ID,...");
  generate
      ->add_option("--tokens", options->count,
                   "Maximum number of tokens to add (default: 100)")
      ->option_text("N")
      ->check(Whole(1));
  generate
      ->add_option("--stop", options->stop,
                   "End the text before this token (10 is the end of a line)")
      ->option_text("ID");
  generate
      ->add_option("--samples", options->samples,
                   "Number of continuations (default: 1)")
      ->option_text("N")
      ->check(Whole(1));
  generate
      ->add_option("--temperature", options->sampling.temperature,
                   "Divides the logits; 0: always the most likely token "
                   "(default: 1)")
      ->option_text("X")
      ->check(AtLeast(0));
  generate
      ->add_option("--top-k", options->sampling.topK,
                   "Choose among the K most likely tokens (default: all)")
      ->option_text("K")
      ->check(Whole(1));
  generate
      ->add_option("--top-p", options->sampling.topP,
                   "Choose among the most likely tokens whose probabilities "
                   "add up to P (default: 1)")
      ->option_text("P")
      ->check(Above(0));
  generate
      ->add_option("--seed", options->sampling.seed,
                   "Seed of the choices (default: 0)")
      ->option_text("N")
      ->check(Whole(0));
  generate
      ->add_option("--output", options->output,
                   "Output with the logits, if there are several")
      ->option_text("NAME");
  options->weights.addTo(*generate);
  options->session.addTo(*generate);
  generate->add_flag("--json", options->json, "Print one JSON object per text");
  return [options] { return runGenerate(*options); };
}
