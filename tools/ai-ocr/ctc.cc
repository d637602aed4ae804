/* SPDX-License-Identifier: Apache-2.0 */
#include "ctc.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace ai_ocr {

Alphabet::Alphabet(std::vector<std::string> characters) : characters_(std::move(characters))
{
    characters_.insert(characters_.begin(), "");
    characters_.emplace_back(" ");
}

ai::Result<Alphabet> Alphabet::read(const std::string& path)
{
    std::ifstream file(path);
    std::vector<std::string> characters;
    std::string line;

    while (std::getline(file, line)) {
        if (line.ends_with('\r'))
            line.pop_back();
        characters.push_back(line);
    }
    if (characters.empty())
        return ai::Error{ENOENT, path + " cannot be read or is empty: the dictionary of the "
                                        "recognition model is needed"};
    return Alphabet(std::move(characters));
}

Text decode_greedily(std::span<const float> probability, const Alphabet& alphabet)
{
    std::size_t classes = alphabet.classes();
    std::size_t previous = 0;
    std::size_t count = 0;
    float sum = 0;
    Text text;

    for (std::size_t at = 0; at + classes <= probability.size(); at += classes) {
        std::span<const float> step = probability.subspan(at, classes);
        auto likeliest = std::ranges::max_element(step);
        auto index = static_cast<std::size_t>(likeliest - step.begin());
        if (index != 0 && index != previous) {
            text.text += alphabet[index];
            sum += *likeliest;
            count++;
        }
        previous = index;
    }
    if (count > 0)
        text.confidence = sum / static_cast<float>(count);
    return text;
}

bool is_blank(std::string_view text)
{
    constexpr std::string_view kWide = "\xe3\x80\x80"; /* U+3000, which the dictionary has */

    while (!text.empty()) {
        if (text.starts_with(' '))
            text.remove_prefix(1);
        else if (text.starts_with(kWide))
            text.remove_prefix(kWide.size());
        else
            return false;
    }
    return true;
}

} // namespace ai_ocr
