/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <limits>

#include <getopt.h>

#include "read_options.h"

namespace ai_run {

namespace {

template <typename T> std::optional<T> parse_number(std::string_view text)
{
    T number{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);

    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

ai::Error bad_value(const std::string& option, const std::string& value, const std::string& needed)
{
    return {EINVAL, option + " is '" + value + "', " + needed + " is needed"};
}

enum : int {
    kHelp = 1,
    kVersion,
    kList,
    kJson,
    kCase,
    kDevice,
    kRepeat,
    kTimeout,
    kZeros,
    kRandom,
    kInput,
    kRaw,
    kShape,
    kOutput
};

constexpr std::array<option, 15> kLong{{
    {"help", no_argument, nullptr, kHelp},
    {"version", no_argument, nullptr, kVersion},
    {"list", no_argument, nullptr, kList},
    {"json", no_argument, nullptr, kJson},
    {"case", no_argument, nullptr, kCase},
    {"device", required_argument, nullptr, kDevice},
    {"repeat", required_argument, nullptr, kRepeat},
    {"timeout", required_argument, nullptr, kTimeout},
    {"zeros", no_argument, nullptr, kZeros},
    {"random", optional_argument, nullptr, kRandom},
    {"input", required_argument, nullptr, kInput},
    {"raw", required_argument, nullptr, kRaw},
    {"shape", required_argument, nullptr, kShape},
    {"output", required_argument, nullptr, kOutput},
    {nullptr, 0, nullptr, 0},
}};

ai::Result<void> take(Options& options, int code, const std::string& value)
{
    switch (code) {
    case kHelp:
    case 'h':
        options.help = true;
        return {};
    case kVersion:
    case 'V':
        options.version = true;
        return {};
    case kList:
    case 'l':
        options.list = true;
        return {};
    case kJson:
    case 'j':
        options.json = true;
        return {};
    case kCase:
        options.cases = true;
        return {};
    case kDevice:
    case 'd':
        options.device = value;
        return {};
    case kRepeat:
    case 'n':
        if (auto repeat = parse_number<unsigned>(value); repeat && *repeat > 0) {
            options.repeat = *repeat;
            return {};
        }
        return bad_value("--repeat", value, "a number of at least 1");
    case kTimeout:
    case 't': {
        ai::Result<ai::Nanoseconds> timeout = parse_duration(value);
        if (!timeout)
            return std::move(timeout).error();
        options.timeout = *timeout;
        return {};
    }
    case kZeros:
        options.fill = Fill::kZeros;
        return {};
    case kRandom:
        options.fill = Fill::kRandom;
        if (value.empty())
            return {};
        if (auto seed = parse_number<std::uint64_t>(value)) {
            options.seed = *seed;
            return {};
        }
        return bad_value("--random", value, "a number to begin with");
    case kInput:
    case 'i':
        options.inputs.push_back({value});
        return {};
    case kRaw:
        options.raws.push_back({value});
        return {};
    case kShape:
        options.shapes.push_back({value});
        return {};
    case kOutput:
    case 'o':
        options.outputs.push_back({value});
        return {};
    default:
        return ai::Error{EINVAL, "that is no command line of ai-run"};
    }
}

ai::Result<void> check(const Options& options)
{
    if (options.help || options.version)
        return {};
    if (options.list) {
        if (!options.arguments.empty())
            return ai::Error{EINVAL, "--list is given '" + options.arguments.front() +
                                         "', it lists all devices and takes nothing: see --help"};
        return {};
    }
    bool tensors = !options.inputs.empty() || !options.raws.empty() || !options.shapes.empty() ||
                   !options.outputs.empty() || options.fill != Fill::kNone;
    if (options.cases) {
        if (options.arguments.empty())
            return ai::Error{EINVAL,
                             "--case is given no folder, at least one is needed: see --help"};
        if (tensors || options.repeat != 1)
            return ai::Error{EINVAL, "--case takes inputs and outputs from its folders: leave out "
                                     "--input, --raw, --shape, --output, --zeros, --random and "
                                     "--repeat"};
        return {};
    }
    if (options.arguments.size() != 1)
        return ai::Error{EINVAL, std::to_string(options.arguments.size()) +
                                     " models are given, one is needed: see --help"};
    return {};
}

} // namespace

ai::Result<ai::Shape> parse_shape(const std::string& text)
{
    std::vector<std::uint64_t> dims;
    std::size_t at = 0;

    while (at < text.size()) {
        std::size_t end = std::min(text.find(',', at), text.size());
        auto dim = parse_number<std::uint64_t>(std::string_view(text).substr(at, end - at));
        if (!dim || end + 1 == text.size())
            return ai::Error{EINVAL, "the shape is '" + text +
                                         "', sizes with commas between them are needed, for "
                                         "example 1,3,224,224"};
        dims.push_back(*dim);
        at = end + 1;
    }
    return ai::Shape::from(dims);
}

ai::Result<ai::Nanoseconds> parse_duration(const std::string& text)
{
    double amount = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
    std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    double scale = unit == "s" || unit.empty() ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : 0;

    if (error != std::errc() || scale == 0 || !(amount > 0) || amount * scale > 9e18)
        return ai::Error{EINVAL, "the time is '" + text +
                                     "', a positive number with s, ms or us behind it is needed"};
    return ai::Nanoseconds(std::llround(amount * scale));
}

ai::Result<Options> parse_options(std::span<char* const> argv)
{
    Options options;
    ai::Result<std::vector<std::string>> rest = ai_tools::read_options(
        "ai-run", argv, ":hVljd:n:t:i:o:", kLong,
        [&](int code, const std::string& value) { return take(options, code, value); });

    if (!rest)
        return std::move(rest).error();
    options.arguments = std::move(*rest);
    if (ai::Result<void> checked = check(options); !checked)
        return std::move(checked).error();
    return options;
}

std::string usage()
{
    return R"(usage: ai-run [OPTION]... MODEL.onnx
       ai-run --case [OPTION]... FOLDER...
       ai-run --list

Run an ONNX model through /dev/ai0.

  -i, --input [NAME=]FILE      an input from a .pb (ONNX TensorProto) or .npy file
      --raw [NAME=]FILE:DTYPE:SHAPE
                               an input from the bytes of a file, for example
                               x=pixels.bin:float32:1,3,224,224
      --zeros                  the other inputs are zero
      --random[=SEED]          the other inputs are random; the same SEED gives the same
      --shape [NAME=]SHAPE     shape of an input that is filled; free sizes are 1 else
  -o, --output [NAME=]FILE     write an output to a .pb, .npy or .raw file
  -d, --device NAME            where to run, for example npu0; any (default): where the
                               kernel decides
  -n, --repeat N               run N times
  -t, --timeout TIME           for loading and for each inference: 2s, 250ms, 100us
      --case                   run cases of the ONNX backend suite: a folder has model.onnx
                               and test_data_set_*, or holds such folders
  -l, --list                   list the devices
  -j, --json                   print JSON
  -h, --help                   print this
  -V, --version                print the version

NAME is that of an input or output, or its number, from 0; without it files go to inputs
and outputs in order.

Exit status: 0 all well; 1 the model, an inference or a case failed; 2 wrong command
line; 3 no device node, no permission, no such device.
)";
}

} // namespace ai_run
