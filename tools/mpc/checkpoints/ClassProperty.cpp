//===- ClassProperty.cpp - Class names in checkpoints ---------------------===//

#include "tools/mpc/checkpoints/ClassProperty.h"
#include "tools/mpc/checkpoints/TrainProperties.h"

#include <nlohmann/json.hpp>

using namespace mpc::tool;

void mpc::tool::rememberClasses(Session &session, const ClassNames &classes) {
  if (!classes.empty())
    session.setProperty(
        kClasses,
        nlohmann::json(classes).dump(-1, ' ', /*ensure_ascii=*/false,
                                     nlohmann::json::error_handler_t::replace));
}

ClassNames mpc::tool::rememberedClasses(const Session &session) {
  ClassNames classes;
  std::optional<std::string> text = session.property(kClasses);
  if (!text)
    return classes;
  nlohmann::json json =
      nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    throw Failure(Damaged, "the checkpoint's list of classes is damaged");
  for (const auto &[input, names] : json.items())
    for (const nlohmann::json &name : names)
      if (name.is_string())
        classes[input].push_back(name.get<std::string>());
  return classes;
}
