/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <getopt.h>

#include "read_options.h"

namespace ai_ocr {

namespace {

enum : int { kReference = 1, kModels, kOut, kFont, kLeast };

constexpr std::array<option, 11> kLong{{
    {"help", no_argument, nullptr, 'h'},
    {"version", no_argument, nullptr, 'V'},
    {"json", no_argument, nullptr, 'j'},
    {"reference", no_argument, nullptr, kReference},
    {"models", required_argument, nullptr, kModels},
    {"device", required_argument, nullptr, 'd'},
    {"timeout", required_argument, nullptr, 't'},
    {"out", required_argument, nullptr, kOut},
    {"font", required_argument, nullptr, kFont},
    {"min-confidence", required_argument, nullptr, kLeast},
    {nullptr, 0, nullptr, 0},
}};

/* A number between @least and @most, all of @text. */
ai::Result<double> number(const std::string& name, const std::string& text, double least,
                          double most)
{
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);

    if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
        !(value <= most))
        return ai::Error{EINVAL, name + " is '" + text + "', a number from " +
                                     std::to_string(least) + " to " + std::to_string(most) +
                                     " is needed"};
    return value;
}

/* Where the set-up of the project puts the models. */
std::string default_models()
{
    // NOLINTBEGIN(concurrency-mt-unsafe): there is one thread
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    // NOLINTEND(concurrency-mt-unsafe)
    std::string base = cache && *cache ? cache : std::string(home ? home : "") + "/.cache";

    return base + "/ai0/models/ocr";
}

ai::Result<void> take(Options& options, int code, const std::string& value)
{
    ai::Result<double> amount = 0.0;

    switch (code) {
    case 'h':
        options.help = true;
        return {};
    case 'V':
        options.version = true;
        return {};
    case 'j':
        options.json = true;
        return {};
    case kReference:
        options.reference = true;
        return {};
    case kModels:
        options.models = value;
        return {};
    case 'd':
        options.device = value;
        return {};
    case kOut:
        options.out = value;
        return {};
    case kFont:
        options.font = value;
        return {};
    case 't':
        amount = number("--timeout", value, 0.001, 86400);
        if (amount)
            options.timeout = ai::Nanoseconds(std::llround(*amount * 1e9));
        break;
    default: /* kLeast */
        amount = number("--min-confidence", value, 0, 1);
        if (amount)
            options.least_confidence = static_cast<float>(*amount);
        break;
    }
    return amount ? ai::Result<void>() : ai::Result<void>(amount.error());
}

} // namespace

ai::Result<Options> parse_options(std::span<char* const> argv)
{
    Options options;

    options.models = default_models();
    options.font = AI_OCR_FONT;
    ai::Result<std::vector<std::string>> rest = ai_tools::read_options(
        "ai-ocr", argv, ":hVjd:t:", kLong,
        [&](int code, const std::string& value) { return take(options, code, value); });
    if (!rest)
        return std::move(rest).error();
    options.pictures = std::move(*rest);
    if (options.pictures.empty() && !options.help && !options.version)
        return ai::Error{EINVAL, "no picture is given, at least one is needed: see --help"};
    return options;
}

std::string usage()
{
    return R"(usage: ai-ocr [OPTION]... PICTURE...

Read the text in PNG and JPEG pictures with PP-OCRv4, through /dev/ai0.

      --models FOLDER          files of PP-OCRv4: ch_PP-OCRv4_det_infer.onnx,
                               ch_PP-OCRv4_rec_infer.onnx, ppocr_keys_v1.txt
      --out FOLDER             write there each picture with what was found drawn in
      --min-confidence C       leave out lines read with less, 0 to 1 (default 0.5)
      --font FILE              font for --out, with the characters to be written
  -d, --device NAME            where to run, for example npu0; any (default): where the
                               kernel decides
  -t, --timeout SECONDS        for loading and for each inference
      --reference              run the models in this process with ONNX Runtime instead
  -j, --json                   print JSON
  -h, --help                   print this
  -V, --version                print the version

Prints each line of text with its confidence, or that no text was found, then where and
how each inference ran. With several pictures the name of each comes first.

Exit status: 0 all well; 1 a picture cannot be read, or an inference failed; 2 wrong
command line; 3 no device node, no permission, no such device, or no models.
)";
}

} // namespace ai_ocr
