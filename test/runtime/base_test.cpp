// Basic components: 16-bit floats, JSON, names, safetensors.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "runtime/src/base/json.h"
#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"

namespace mpc::runtime {
namespace {

// Checks all 16-bit values and the floats between them: up to the midpoint of
// two adjacent values, floats round down (the midpoint itself to even).
void check_rounding(uint16_t (*narrow)(float), float (*widen)(uint16_t),
                    uint16_t infinity) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto value = static_cast<uint16_t>(bits);
    float wide = widen(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(widen(narrow(wide))));
      continue;
    }
    ASSERT_EQ(narrow(wide), value);
    if (value >= infinity) continue;  // Only positive values below infinity.
    auto next = static_cast<uint16_t>(value + 1);
    double above = next == infinity ? 2.0 * wide - widen(value - 1)
                                    : static_cast<double>(widen(next));
    auto middle = static_cast<float>((wide + above) / 2);
    ASSERT_EQ(narrow(middle), value % 2 == 0 ? value : next) << bits;
    ASSERT_EQ(narrow(std::nextafterf(middle, 0)), value) << bits;
    ASSERT_EQ(narrow(std::nextafterf(middle, HUGE_VALF)), next) << bits;
    ASSERT_EQ(narrow(-middle), narrow(middle) | 0x8000) << bits;
  }
}

TEST(Number, RoundsToBf16) {
  check_rounding(bf16_from_f32, f32_from_bf16, 0x7f80);
  // A NaN whose payload is only in the dropped bits must not become infinity.
  uint32_t bits = 0x7f800001;
  float nan;
  std::memcpy(&nan, &bits, 4);
  EXPECT_GT(bf16_from_f32(nan) & 0x7fff, 0x7f80);
}

TEST(Number, RoundsToF16) {
  check_rounding(f16_from_f32, f32_from_f16, 0x7c00);
  EXPECT_EQ(f16_from_f32(65519.0f), 0x7bff);
  EXPECT_EQ(f16_from_f32(65520.0f), 0x7c00);
  EXPECT_EQ(f16_from_f32(1e30f), 0x7c00);
}

// f64 is rounded once, not through f32.
TEST(Number, RoundsF64Once) {
  double values[3] = {1.0 + 0x1p-8 + 0x1p-40, 1.0 + 0x1p-8,
                      -1.0 - 0x1p-8 - 0x1p-50};
  uint16_t rounded[3];
  ASSERT_TRUE(
      round_elements(MPC_DTYPE_F64, values, MPC_DTYPE_BF16, rounded, 3));
  EXPECT_EQ(rounded[0], 0x3f81);  // Above the midpoint, but not in f32.
  EXPECT_EQ(rounded[1], 0x3f80);
  EXPECT_EQ(rounded[2], 0xbf81);
  EXPECT_FALSE(
      round_elements(MPC_DTYPE_F32, values, MPC_DTYPE_F32, rounded, 3));
}

TEST(Number, CountsElements) {
  uint64_t count;
  int64_t huge[] = {int64_t{1} << 32, int64_t{1} << 32};
  EXPECT_FALSE(count_elements(huge, 2, &count));
  int64_t hidden[] = {int64_t{1} << 32, int64_t{1} << 32, 0};
  EXPECT_FALSE(count_elements(hidden, 3, &count));
  int64_t negative[] = {0, -1};
  EXPECT_FALSE(count_elements(negative, 2, &count));
  EXPECT_TRUE(count_elements(nullptr, 0, &count));
  EXPECT_EQ(count, 1u);
}

TEST(Number, KnowsUtf8) {
  auto good = [](const char* text) { return is_utf8(text, std::strlen(text)); };
  EXPECT_TRUE(good("w\xc3\xa4gt \xe2\x82\xac \xf0\x9f\x98\x80"));
  for (const char* bad :
       {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3(", "\xe2\x82"})
    EXPECT_FALSE(good(bad));
}

std::string parse_error(const std::string& text) {
  Json json;
  std::string error;
  return Json::parse(text.data(), text.size(), 1000, &json, &error) ? ""
                                                                    : error;
}

TEST(JsonText, Parses) {
  std::string text =
      " {\"b\":[1,-2,3.5e+1,true,null], \"a\\u00e4\\ud83d\\ude00\\n\":\"x\"} ";
  Json json;
  std::string error;
  ASSERT_TRUE(Json::parse(text.data(), text.size(), 1000, &json, &error))
      << error;
  const Json* list = json.find("b");
  ASSERT_TRUE(list && list->items.size() == 5);
  int64_t value;
  EXPECT_TRUE(list->items[1].to_signed(&value));
  EXPECT_EQ(value, -2);
  uint64_t whole;
  EXPECT_FALSE(list->items[1].to_unsigned(&whole));
  EXPECT_FALSE(list->items[2].to_unsigned(&whole));
  EXPECT_TRUE(json.find("a\xc3\xa4\xf0\x9f\x98\x80\n"));
  EXPECT_FALSE(json.find("c"));
}

TEST(JsonText, IsStrict) {
  for (const char* bad : {"",
                          "{",
                          "[1,]",
                          "{\"a\":1,}",
                          "{\"a\":1,\"a\":2}",
                          "01",
                          "+1",
                          "1.",
                          ".5",
                          "1e",
                          "nul",
                          "\"a",
                          "\"\n\"",
                          "\"\\x\"",
                          "\"\\ud800\"",
                          "\"\\udc00\"",
                          "\"\\u12g4\"",
                          "[1 2]",
                          "{1:2}",
                          "1 2",
                          "NaN",
                          "\"\xff\"",
                          "'a'",
                          "-"})
    EXPECT_NE(parse_error(bad), "") << bad;
  EXPECT_EQ(parse_error("[1,]"), "expected a value at byte 3");
  std::string deep(100000, '[');
  EXPECT_EQ(parse_error(deep), "nested too deeply at byte 17");
}

TEST(JsonText, QuotesWhatItReads) {
  std::string text = "a\"b\\c\n\x01\xc3\xa4";
  std::string quoted = json_quote(text);
  Json json;
  std::string error;
  ASSERT_TRUE(Json::parse(quoted.data(), quoted.size(), 1, &json, &error));
  EXPECT_EQ(json.text, text);
  uint64_t value;
  EXPECT_TRUE(parse_hex(hex_of(0x0123456789abcdef), &value));
  EXPECT_EQ(value, 0x0123456789abcdefu);
  EXPECT_FALSE(parse_hex("0123456789ABCDEF", &value));
  EXPECT_FALSE(parse_hex("123", &value));
}

//===----------------------------------------------------------------------===//
// safetensors
//===----------------------------------------------------------------------===//

std::string safetensors_error(const std::string& json,
                              const std::string& data) {
  std::string file(8, '\0');
  file[0] = static_cast<char>(json.size());
  file[1] = static_cast<char>(json.size() >> 8);
  file += json + data;
  std::vector<StoredTensor> tensors;
  mpc_status_t status =
      parse_safetensors("t", reinterpret_cast<const uint8_t*>(file.data()),
                        file.size(), &tensors);
  std::string message = mpc_status_message(status);
  EXPECT_TRUE(!status || mpc_status_code(status) == MPC_DAMAGED);
  mpc_status_free(status);
  return message;
}

TEST(Safetensors, ReadsWhatItWrites) {
  std::vector<StoredTensor> tensors(2);
  tensors[0] = {"a", MPC_DTYPE_F32, {2}, 0, 8};
  tensors[1] = {"b\"", MPC_DTYPE_BOOL, {}, 0, 1};
  std::string file = safetensors_header(&tensors);
  EXPECT_EQ(file.size() % 8, 0u);
  EXPECT_EQ(tensors[1].offset, file.size() + 8);
  file += "12345678x";
  std::vector<StoredTensor> read;
  mpc_status_t status = parse_safetensors(
      "t", reinterpret_cast<const uint8_t*>(file.data()), file.size(), &read);
  ASSERT_EQ(status, nullptr) << mpc_status_message(status);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].name, "b\"");
  EXPECT_EQ(read[1].offset, tensors[1].offset);
}

TEST(Safetensors, RefusesWhatIsWrong) {
  const std::string good =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(safetensors_error(good, "12345678"), "");
  EXPECT_EQ(safetensors_error(R"({"__metadata__":{"x":"y"}})", ""), "");
  EXPECT_EQ(safetensors_error(good, "1234567"),
            "'t' is damaged: tensor 'a' has an invalid description");
  EXPECT_EQ(safetensors_error(good, "123456789"),
            "'t' is damaged: its tensors overlap or leave bytes over");
  for (const char* bad :
       {R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})",
        R"({"a":{"dtype":"F32","shape":[2]}})",
        R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],)"
        R"("data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
        R"("b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
        R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", R"([1])",
        R"( {"a":1})", R"({"a":1})"})
    EXPECT_NE(safetensors_error(bad, "12345678"), "") << bad;
}

}  // namespace
}  // namespace mpc::runtime
