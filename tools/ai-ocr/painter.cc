/* SPDX-License-Identifier: Apache-2.0 */
#include "painter.h"

#include <algorithm>
#include <cerrno>

#include <ft2build.h>
#include FT_FREETYPE_H

namespace ai_ocr {

namespace {

constexpr char32_t kReplacement = 0xfffd;

struct LibraryDeleter {
    void operator()(FT_Library library) const { FT_Done_FreeType(library); }
};

struct FaceDeleter {
    void operator()(FT_Face face) const { FT_Done_Face(face); }
};

/* The share of @colour that a glyph's pixel asks for. */
void blend(cv::Mat& image, const FT_Bitmap& glyph, cv::Point at, const cv::Scalar& colour)
{
    for (int y = 0; y < static_cast<int>(glyph.rows); y++) {
        if (at.y + y < 0 || at.y + y >= image.rows)
            continue;
        auto* row = image.ptr<cv::Vec3b>(at.y + y);
        const unsigned char* cover = glyph.buffer + y * glyph.pitch;
        for (int x = 0; x < static_cast<int>(glyph.width); x++) {
            if (at.x + x < 0 || at.x + x >= image.cols)
                continue;
            double share = cover[x] / 255.0;
            cv::Vec3b& pixel = row[at.x + x];
            for (int channel = 0; channel < 3; channel++)
                pixel[channel] = cv::saturate_cast<unsigned char>(pixel[channel] * (1 - share) +
                                                                  colour[channel] * share);
        }
    }
}

} // namespace

std::u32string code_points(std::string_view text)
{
    std::u32string out;

    for (std::size_t i = 0; i < text.size();) {
        auto first = static_cast<unsigned char>(text[i]);
        std::size_t length = first < 0x80       ? 1
                             : first >> 5 == 6  ? 2
                             : first >> 4 == 14 ? 3
                             : first >> 3 == 30 ? 4
                                                : 0;
        char32_t point = length == 1 ? first : first & (0x7fU >> length);
        bool good = length > 0 && i + length <= text.size();
        for (std::size_t k = 1; good && k < length; k++) {
            auto next = static_cast<unsigned char>(text[i + k]);
            good = next >> 6 == 2;
            point = point << 6 | (next & 0x3fU);
        }
        out += good ? point : kReplacement;
        i += good ? length : 1;
    }
    return out;
}

struct Painter::Impl {
    std::unique_ptr<FT_LibraryRec_, LibraryDeleter> library;
    std::unique_ptr<FT_FaceRec_, FaceDeleter> face; /* goes before the library */

    /* Calls @visit with each glyph, rendered, and where it begins; the pen's end. */
    template <typename Visit>
    int walk(std::string_view text, int height, FT_Int32 flags, Visit visit)
    {
        FT_Pos pen = 0; /* in 64ths of a pixel */

        FT_Set_Pixel_Sizes(face.get(), 0, static_cast<FT_UInt>(std::max(height, 1)));
        for (char32_t point : code_points(text)) {
            if (FT_Load_Char(face.get(), point, flags) != 0)
                continue;
            visit(*face->glyph, static_cast<int>(pen / 64));
            pen += face->glyph->advance.x;
        }
        return static_cast<int>((pen + 63) / 64);
    }
};

Painter::Painter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Painter::Painter(Painter&&) noexcept = default;
Painter& Painter::operator=(Painter&&) noexcept = default;
Painter::~Painter() = default;

ai::Result<Painter> Painter::open(const std::string& font)
{
    auto impl = std::make_unique<Impl>();
    FT_Library library = nullptr;
    FT_Face face = nullptr;

    if (FT_Init_FreeType(&library) != 0)
        return ai::Error{ENOMEM, "FreeType does not start"};
    impl->library.reset(library);
    if (FT_New_Face(library, font.c_str(), 0, &face) != 0)
        return ai::Error{ENOENT, font + " is not there or is no font: install one with Chinese "
                                        "characters (Debian: fonts-wqy-microhei) or name one with "
                                        "--font"};
    impl->face.reset(face);
    return Painter(std::move(impl));
}

int Painter::width(std::string_view text, int height)
{
    return impl_->walk(text, height, FT_LOAD_DEFAULT, [](const FT_GlyphSlotRec_&, int) {});
}

void Painter::draw(cv::Mat& image, std::string_view text, cv::Point origin, int height,
                   const cv::Scalar& colour)
{
    impl_->walk(text, height, FT_LOAD_RENDER, [&](const FT_GlyphSlotRec_& glyph, int pen) {
        blend(image, glyph.bitmap,
              {origin.x + pen + glyph.bitmap_left, origin.y - glyph.bitmap_top}, colour);
    });
}

} // namespace ai_ocr
