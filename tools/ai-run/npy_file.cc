/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace ai_run {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMagic = "\x93NUMPY"sv;
/* Elements begin at a multiple of this. */
constexpr std::size_t kAlign = 64;

struct TypeCode {
    std::string_view code; /* without the byte order */
    ai::DType dtype;
};

constexpr std::array<TypeCode, 14> kCodes{{
    {"f4", ai::DType::kFloat32},
    {"u1", ai::DType::kUint8},
    {"i1", ai::DType::kInt8},
    {"u2", ai::DType::kUint16},
    {"i2", ai::DType::kInt16},
    {"i4", ai::DType::kInt32},
    {"i8", ai::DType::kInt64},
    {"b1", ai::DType::kBool},
    {"f2", ai::DType::kFloat16},
    {"f8", ai::DType::kFloat64},
    {"u4", ai::DType::kUint32},
    {"u8", ai::DType::kUint64},
    {"c8", ai::DType::kComplex64},
    {"c16", ai::DType::kComplex128},
}};

/* The header is a Python dictionary with three known keys. */
class Header {
public:
    explicit Header(std::string_view text) : text_(text) {}

    /* What follows "'key':", without blanks before it; empty if there is no such key. */
    std::string_view value(std::string_view key) const
    {
        std::string quoted = "'" + std::string(key) + "'";
        std::size_t at = text_.find(quoted);

        if (at == std::string_view::npos)
            return {};
        std::string_view rest = skip(text_.substr(at + quoted.size()));
        return rest.starts_with(':') ? skip(rest.substr(1)) : std::string_view();
    }

    static std::string_view skip(std::string_view text)
    {
        std::size_t at = text.find_first_not_of(" \t\n");

        return at == std::string_view::npos ? std::string_view() : text.substr(at);
    }

private:
    std::string_view text_;
};

std::optional<std::vector<std::uint64_t>> parse_shape(std::string_view text)
{
    std::vector<std::uint64_t> dims;

    if (!text.starts_with('('))
        return std::nullopt;
    text = Header::skip(text.substr(1));
    while (!text.starts_with(')')) {
        std::uint64_t dim = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
        if (error != std::errc())
            return std::nullopt;
        dims.push_back(dim);
        text = Header::skip(text.substr(static_cast<std::size_t>(end - text.data())));
        if (text.starts_with(','))
            text = Header::skip(text.substr(1));
        else if (!text.starts_with(')'))
            return std::nullopt;
    }
    return dims;
}

/* Between quotes. */
std::optional<std::string_view> parse_text(std::string_view text)
{
    std::size_t end = text.starts_with('\'') ? text.find('\'', 1) : std::string_view::npos;

    if (end == std::string_view::npos)
        return std::nullopt;
    return text.substr(1, end - 1);
}

ai::Result<ai::DType> parse_descr(std::string_view descr, const std::string& where)
{
    bool native = descr.starts_with('<') || descr.starts_with('|') || descr.starts_with('=');

    for (const TypeCode& known : kCodes)
        if (native && descr.substr(1) == known.code)
            return known.dtype;
    return ai::Error{EOPNOTSUPP, where + " has elements of NumPy type '" + std::string(descr) +
                                     "', little-endian numbers and booleans are possible"};
}

} // namespace

ai::Result<HostTensor> parse_npy(std::span<const std::byte> file, const std::string& where)
{
    std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    ai::Error malformed{EBADMSG, where + " is not a .npy file, or its header is damaged"};

    if (text.size() < kMagic.size() + 4 || !text.starts_with(kMagic))
        return malformed;
    auto byte_at = [&](std::size_t i) { return static_cast<std::size_t>(file[i]); };
    std::size_t version = byte_at(6);
    std::size_t begin = version == 1 ? 10 : 12;
    if (version < 1 || version > 3)
        return ai::Error{EOPNOTSUPP, where + " has .npy version " + std::to_string(version) +
                                         ", 1 to 3 are known"};
    if (text.size() < begin)
        return malformed;
    std::size_t length = byte_at(8) | byte_at(9) << 8;
    if (version > 1)
        length |= byte_at(10) << 16 | byte_at(11) << 24;
    if (length > text.size() - begin)
        return malformed;

    Header header(text.substr(begin, length));
    auto descr = parse_text(header.value("descr"));
    auto dims = parse_shape(header.value("shape"));
    std::string_view order = header.value("fortran_order");
    if (!descr || !dims || order.empty())
        return malformed;

    HostTensor tensor;
    ai::Result<ai::DType> dtype = parse_descr(*descr, where);
    ai::Result<ai::Shape> shape = ai::Shape::from(*dims);
    if (!dtype)
        return std::move(dtype).error();
    if (!shape)
        return ai::Error{EBADMSG, where + ": " + shape.error().message};
    if (!order.starts_with("False") && shape->rank() > 1)
        return ai::Error{EOPNOTSUPP, where + " is in Fortran order, C order is needed: save it "
                                             "with numpy.ascontiguousarray()"};
    tensor.dtype = *dtype;
    tensor.shape = *shape;
    std::span<const std::byte> elements = file.subspan(begin + length);
    tensor.data.assign(elements.begin(), elements.end());
    return check_size(tensor, where).and_then([&] { return ai::Result(std::move(tensor)); });
}

ai::Result<HostTensor> read_npy(const std::string& path)
{
    return read_file(path).and_then(
        [&](std::vector<std::byte>&& file) { return parse_npy(file, path); });
}

ai::Result<std::vector<std::byte>> format_npy(const HostTensor& tensor)
{
    auto known = std::ranges::find(kCodes, tensor.dtype, &TypeCode::dtype);

    if (known == kCodes.end())
        return ai::Error{EOPNOTSUPP, std::string("NumPy has no type for ") +
                                         ai::dtype_name(tensor.dtype) +
                                         " in .npy files: write .pb or .raw"};
    std::string header = "{'descr': '";
    header += ai::element_bytes(tensor.dtype) == 1 ? '|' : '<';
    header.append(known->code).append("', 'fortran_order': False, 'shape': (");
    for (std::uint64_t dim : tensor.shape)
        header += std::to_string(dim) + ",";
    header += "), }";
    std::size_t begin = (10 + header.size() + 1 + kAlign - 1) / kAlign * kAlign;
    header.resize(begin - 10 - 1, ' ');
    header += '\n';

    std::string file(kMagic);
    file += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
             static_cast<char>(header.size() >> 8)};
    file += header;
    std::span<const std::byte> head = std::as_bytes(std::span(file));
    std::vector<std::byte> out(head.begin(), head.end());
    out.insert(out.end(), tensor.data.begin(), tensor.data.end());
    return out;
}

ai::Result<void> write_npy(const std::string& path, const HostTensor& tensor)
{
    ai::Result<std::vector<std::byte>> file = format_npy(tensor);

    if (!file)
        return std::move(file).error();
    return write_file(path, *file);
}

} // namespace ai_run
