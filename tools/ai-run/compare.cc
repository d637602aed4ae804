/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <cmath>
#include <complex>
#include <sstream>

#include "elements.h"

namespace ai_run {

namespace {

using Element = std::complex<Value>; /* the imaginary part of a real number is 0 */

Element element_at(const HostTensor& tensor, std::size_t i)
{
    if (values_per_element(tensor.dtype) == 1)
        return value_at(tensor.dtype, tensor.data, i);
    return {value_at(tensor.dtype, tensor.data, 2 * i),
            value_at(tensor.dtype, tensor.data, 2 * i + 1)};
}

bool is_nan(const Element& element)
{
    return std::isnan(element.real()) || std::isnan(element.imag());
}

bool close(const Element& expected, const Element& actual, const Tolerance& tolerance)
{
    if (is_nan(expected) || is_nan(actual))
        return is_nan(expected) && is_nan(actual);
    if (expected == actual)
        return true;
    /* An infinity is near nothing but itself. */
    Value distance = std::abs(actual - expected);
    return std::isfinite(distance) &&
           distance <= static_cast<Value>(tolerance.absolute) +
                           static_cast<Value>(tolerance.relative) * std::abs(expected);
}

std::string text_of(const HostTensor& tensor, std::size_t i)
{
    Element element = element_at(tensor, i);
    std::ostringstream text;

    if (values_per_element(tensor.dtype) == 1)
        text << element.real();
    else
        text << element;
    return text.str();
}

std::optional<std::string> string_difference(const HostTensor& expected, const HostTensor& actual)
{
    std::size_t count = expected.shape.elements().value_or(0);
    auto want = ai::unpack_strings(expected.data, count);
    auto have = ai::unpack_strings(actual.data, count);

    if (!want || !have)
        return want ? have.error().message : want.error().message;
    for (std::size_t i = 0; i < count; i++)
        if ((*want)[i] != (*have)[i])
            return "element " + std::to_string(i) + " is '" + std::string((*have)[i]) + "', '" +
                   std::string((*want)[i]) + "' was expected";
    return std::nullopt;
}

} // namespace

std::optional<std::string> difference(const HostTensor& expected, const HostTensor& actual,
                                      const Tolerance& tolerance)
{
    if (expected.dtype != actual.dtype)
        return std::string("the element type is ") + ai::dtype_name(actual.dtype) + ", " +
               ai::dtype_name(expected.dtype) + " was expected";
    if (expected.shape != actual.shape)
        return "the shape is " + ai::to_string(actual.shape) + ", " +
               ai::to_string(expected.shape) + " was expected";
    if (expected.dtype == ai::DType::kString)
        return string_difference(expected, actual);
    if (expected.data.size() != actual.data.size())
        return "there are " + std::to_string(actual.data.size()) + " bytes, " +
               std::to_string(expected.data.size()) + " were expected";

    std::size_t count = expected.shape.elements().value_or(0);
    for (std::size_t i = 0; i < count; i++)
        if (!close(element_at(expected, i), element_at(actual, i), tolerance))
            return "element " + std::to_string(i) + " is " + text_of(actual, i) + ", " +
                   text_of(expected, i) + " was expected";
    return std::nullopt;
}

} // namespace ai_run
