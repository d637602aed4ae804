/* SPDX-License-Identifier: Apache-2.0 */
#include "binding.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <random>

#include <unistd.h>

#include "npy_file.h"
#include "pb_file.h"

namespace ai_run {

namespace {

/* Finds what the next word of the command line is for, and that it is so once only. */
class Slots {
public:
    Slots(std::span<const ai::TensorInfo> infos, const char* what)
        : infos_(infos), what_(what), taken_(infos.size())
    {
    }

    struct Target {
        std::size_t index;
        std::string value;
    };

    /* @own is the name in the file itself; it counts if the command line gives none. */
    ai::Result<Target> target(const Assignment& assignment, const std::string& own = "")
    {
        std::size_t sign = assignment.text.find('=');
        std::optional<std::size_t> index;
        std::string value = assignment.text;

        if (sign != std::string::npos) {
            index = by_name_or_number(assignment.text.substr(0, sign));
            if (index)
                value = assignment.text.substr(sign + 1);
        }
        if (!index && !own.empty())
            index = by_name(own);
        if (!index)
            index = static_cast<std::size_t>(std::ranges::find(taken_, false) - taken_.begin());
        if (*index >= taken_.size())
            return ai::Error{EINVAL, assignment.text + " is for no " + what_ + ", the model has " +
                                         std::to_string(taken_.size()) + names()};
        if (taken_[*index])
            return ai::Error{EINVAL, assignment.text + " is for " + what_ + " '" +
                                         infos_[*index].name + "', which has a file already"};
        taken_[*index] = true;
        return Target{*index, value};
    }

    /* The value behind "NAME=", if there is such a name. */
    std::string value_of(const Assignment& assignment) const
    {
        std::size_t sign = assignment.text.find('=');

        if (sign != std::string::npos && by_name_or_number(assignment.text.substr(0, sign)))
            return assignment.text.substr(sign + 1);
        return assignment.text;
    }

private:
    std::optional<std::size_t> by_name(const std::string& name) const
    {
        auto found = std::ranges::find(infos_, name, &ai::TensorInfo::name);

        if (found == infos_.end())
            return std::nullopt;
        return static_cast<std::size_t>(found - infos_.begin());
    }

    std::optional<std::size_t> by_name_or_number(const std::string& text) const
    {
        std::size_t number = 0;
        const char* last = text.data() + text.size();

        if (auto index = by_name(text))
            return index;
        auto [end, error] = std::from_chars(text.data(), last, number);
        return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
    }

    std::string names() const
    {
        std::string text;

        for (const ai::TensorInfo& info : infos_)
            text.append(text.empty() ? ": " : ", ").append(info.name);
        return text;
    }

    std::span<const ai::TensorInfo> infos_;
    const char* what_;
    std::vector<bool> taken_;
};

std::string extension(const std::string& path)
{
    return std::filesystem::path(path).extension().string();
}

ai::Result<HostTensor> read_tensor(const std::string& path)
{
    if (extension(path) == ".pb")
        return read_pb(path);
    if (extension(path) == ".npy")
        return read_npy(path);
    return ai::Error{EINVAL, path + " ends neither in .pb nor in .npy; take --raw for other files"};
}

/* FILE:DTYPE:SHAPE, from the back: a name may have colons. */
ai::Result<HostTensor> read_raw(const std::string& text)
{
    std::size_t second = text.rfind(':');
    std::size_t first = second == std::string::npos || second == 0 ? std::string::npos
                                                                   : text.rfind(':', second - 1);

    if (first == std::string::npos)
        return ai::Error{EINVAL, "--raw is '" + text +
                                     "', FILE:DTYPE:SHAPE is needed, for example "
                                     "pixels.bin:float32:1,3,224,224"};
    std::string path = text.substr(0, first);
    std::string type = text.substr(first + 1, second - first - 1);
    std::optional<ai::DType> dtype = ai::dtype_from_name(type);
    if (!dtype || *dtype == ai::DType::kString)
        return ai::Error{EINVAL, "--raw has element type '" + type +
                                     "', float32, uint8, int64 and the like are possible"};
    ai::Result<ai::Shape> shape = parse_shape(text.substr(second + 1));
    if (!shape)
        return std::move(shape).error();
    ai::Result<std::vector<std::byte>> data = read_file(path);
    if (!data)
        return std::move(data).error();
    HostTensor tensor{"", *dtype, *shape, std::move(*data)};
    return check_size(tensor, path).and_then([&] { return ai::Result(std::move(tensor)); });
}

template <typename T, typename Make> void fill_with(std::vector<std::byte>& data, Make make)
{
    for (std::size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T)) {
        T value = make();
        std::memcpy(data.data() + at, &value, sizeof(T));
    }
}

/*
 * Floats from [0, 1), integers from 0 to 9, booleans 0 or 1. Made from the bits of
 * the generator, since the standard's distributions differ between libraries.
 */
void fill_random(HostTensor& tensor, std::mt19937_64& generator)
{
    auto unit = [&] { return static_cast<double>(generator() >> 40) * 0x1p-24; };
    auto digit = [&] { return generator() % 10; };

    switch (tensor.dtype) {
    case ai::DType::kFloat32:
    case ai::DType::kComplex64:
        return fill_with<float>(tensor.data, [&] { return static_cast<float>(unit()); });
    case ai::DType::kFloat64:
    case ai::DType::kComplex128:
        return fill_with<double>(tensor.data, unit);
    case ai::DType::kFloat16: /* 1 to 2 less one: the exponent is fixed, the fraction free */
        return fill_with<std::uint16_t>(tensor.data, [&] {
            return static_cast<std::uint16_t>(0x3800 | (generator() & 0x3ff));
        });
    case ai::DType::kBfloat16:
        return fill_with<std::uint16_t>(
            tensor.data, [&] { return static_cast<std::uint16_t>(0x3f00 | (generator() & 0x7f)); });
    case ai::DType::kBool:
        return fill_with<std::uint8_t>(tensor.data,
                                       [&] { return static_cast<std::uint8_t>(generator() & 1); });
    default:
        break;
    }
    switch (ai::element_bytes(tensor.dtype)) {
    case 1:
        return fill_with<std::uint8_t>(tensor.data,
                                       [&] { return static_cast<std::uint8_t>(digit()); });
    case 2:
        return fill_with<std::uint16_t>(tensor.data,
                                        [&] { return static_cast<std::uint16_t>(digit()); });
    case 4:
        return fill_with<std::uint32_t>(tensor.data,
                                        [&] { return static_cast<std::uint32_t>(digit()); });
    default:
        return fill_with<std::uint64_t>(tensor.data, digit);
    }
}

/* What it takes in this process; nothing if that cannot even be counted. */
std::optional<std::uint64_t> bytes_of(ai::DType dtype, const ai::Shape& shape)
{
    std::optional<std::uint64_t> count = shape.elements();
    std::uint64_t each = ai::element_bytes(dtype);
    std::uint64_t bytes = 0;

    if (dtype == ai::DType::kString) /* an offset in the table, and the string while it is made */
        each = sizeof(std::uint64_t) + sizeof(std::string);
    if (!count || __builtin_mul_overflow(*count, each, &bytes))
        return std::nullopt;
    return bytes;
}

/*
 * Looked at before it is allocated: where memory is overcommitted that would succeed,
 * and the process be killed when it writes.
 */
ai::Result<void> check_room(const std::string& what, ai::DType dtype, const ai::Shape& shape)
{
    std::optional<std::uint64_t> bytes = bytes_of(dtype, shape);
    std::uint64_t memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));

    if (bytes && *bytes <= memory / 2)
        return {};
    return ai::Error{EFBIG, what + " of shape " + ai::to_string(shape) + " takes " +
                                (bytes ? std::to_string(*bytes) : "more than 2^64") +
                                " bytes, and as many again for the device; this machine has " +
                                std::to_string(memory) +
                                ": give a smaller shape with --shape, or take a larger machine"};
}

ai::Result<HostTensor> filled(const std::string& what, const ai::TensorInfo& info,
                              const std::optional<ai::Shape>& asked, Fill fill,
                              std::mt19937_64& generator)
{
    std::vector<std::int64_t> dims = info.dims;
    std::ranges::replace_if(
        dims, [](std::int64_t dim) { return dim < 0; }, 1);
    ai::Result<ai::Shape> shape = asked ? ai::Result(*asked) : ai::Shape::from(dims);
    HostTensor tensor;

    if (!shape)
        return std::move(shape).error();
    tensor.name = info.name;
    tensor.dtype = info.dtype;
    tensor.shape = *shape;
    if (ai::Result<void> room = check_room(what, info.dtype, *shape); !room)
        return std::move(room).error();
    if (info.dtype == ai::DType::kString) {
        std::vector<std::string> strings(shape->elements().value_or(0));
        tensor.data = ai::pack_strings(strings);
        return tensor;
    }
    ai::Result<ai::Bytes> bytes = ai::tensor_bytes(info.dtype, *shape);
    if (!bytes)
        return std::move(bytes).error();
    tensor.data.resize(bytes->count());
    if (fill == Fill::kRandom)
        fill_random(tensor, generator);
    return tensor;
}

} // namespace

ai::Result<Inputs> bind_inputs(std::span<const ai::TensorInfo> infos, const Options& options)
{
    std::vector<std::optional<HostTensor>> given(infos.size());
    std::vector<std::optional<ai::Shape>> shapes(infos.size());
    Slots files(infos, "input");
    Slots shape_slots(infos, "input");
    Inputs inputs;

    inputs.sources.resize(infos.size());
    for (const Assignment& assignment : options.inputs) {
        ai::Result<HostTensor> tensor = read_tensor(files.value_of(assignment));
        if (!tensor)
            return std::move(tensor).error();
        ai::Result<Slots::Target> target = files.target(assignment, tensor->name);
        if (!target)
            return std::move(target).error();
        inputs.sources[target->index] = target->value;
        given[target->index] = std::move(*tensor);
    }
    for (const Assignment& assignment : options.raws) {
        ai::Result<Slots::Target> target = files.target(assignment);
        if (!target)
            return std::move(target).error();
        ai::Result<HostTensor> tensor = read_raw(target->value);
        if (!tensor)
            return std::move(tensor).error();
        inputs.sources[target->index] = target->value;
        given[target->index] = std::move(*tensor);
    }
    for (const Assignment& assignment : options.shapes) {
        ai::Result<Slots::Target> target = shape_slots.target(assignment);
        if (!target)
            return std::move(target).error();
        ai::Result<ai::Shape> shape = parse_shape(target->value);
        if (!shape)
            return std::move(shape).error();
        shapes[target->index] = *shape;
    }

    std::mt19937_64 generator(options.seed);
    for (std::size_t i = 0; i < infos.size(); i++) {
        if (!given[i]) {
            std::string what = "input " + std::to_string(i) + " (" + ai::to_string(infos[i]) + ")";
            if (options.fill == Fill::kNone)
                return ai::Error{EINVAL, what + " is not given: name a file with --input or --raw, "
                                                "or take --zeros or --random"};
            ai::Result<HostTensor> tensor =
                filled(what, infos[i], shapes[i], options.fill, generator);
            if (!tensor)
                return std::move(tensor).error();
            inputs.sources[i] = options.fill == Fill::kZeros ? "zeros" : "random";
            given[i] = std::move(*tensor);
        }
        inputs.tensors.push_back(std::move(*given[i]));
    }
    return inputs;
}

ai::Result<std::vector<std::optional<std::string>>>
bind_outputs(std::span<const ai::TensorInfo> infos, const Options& options)
{
    std::vector<std::optional<std::string>> paths(infos.size());
    Slots slots(infos, "output");

    for (const Assignment& assignment : options.outputs) {
        ai::Result<Slots::Target> target = slots.target(assignment);
        if (!target)
            return std::move(target).error();
        std::string end = extension(target->value);
        if (end != ".pb" && end != ".npy" && end != ".raw")
            return ai::Error{EINVAL, target->value + " ends neither in .pb, .npy nor .raw"};
        paths[target->index] = target->value;
    }
    return paths;
}

ai::Result<void> write_tensor(const std::string& path, const HostTensor& tensor)
{
    if (extension(path) == ".pb")
        return write_pb(path, tensor);
    if (extension(path) == ".npy")
        return write_npy(path, tensor);
    return write_file(path, tensor.data);
}

} // namespace ai_run
