#include "io/archive/segy_codes.h"

#include "io/archive/shared.h"

/* Convert IBM's hexadecimal floats: (-1)^sign x fraction / 2^24 x 16^(exponent - 64). Sign, fraction and exponent have 1, 24 and 7
 * bits. A float32 holds 24 bits, so values are exact; too large ones become infinite, too small ones are rounded. */
static inline void convert_ibm(const unsigned char *from, int64_t n, bool is_big, char *to)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t bits = (uint32_t)lw_field_unsigned(from + 4 * i, 4, is_big);
        const int exponent = 4 * ((int)(bits >> 24 & 0x7f) - 64) - 24;
        const uint64_t power_bits = (uint64_t)(exponent + 1023) << 52;      /* bits of the float64 2^exponent, which is normal */
        double power;
        memcpy(&power, &power_bits, sizeof power);
        const double size = (double)(int32_t)(bits & 0xffffff) * power;
        const float value = (float)(bits >> 31 ? -size : size);
        memcpy(to + 4 * i, &value, sizeof value);
    }
}

static void convert_ibm_little(const unsigned char *from, int64_t n, void *to) { convert_ibm(from, n, false, to); }
static void convert_ibm_big(const unsigned char *from, int64_t n, void *to) { convert_ibm(from, n, true, to); }

static inline void convert_24(const unsigned char *from, int64_t n, bool is_signed, bool is_big, char *to)
{
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *const at = from + 3 * i;
        const int32_t value = (int32_t)(is_signed ? lw_field_signed(at, 3, is_big) : (int64_t)lw_field_unsigned(at, 3, is_big));
        memcpy(to + 4 * i, &value, sizeof value);
    }
}

static void convert_int24_little(const unsigned char *from, int64_t n, void *to) { convert_24(from, n, true, false, to); }
static void convert_int24_big(const unsigned char *from, int64_t n, void *to) { convert_24(from, n, true, true, to); }
static void convert_uint24_little(const unsigned char *from, int64_t n, void *to) { convert_24(from, n, false, false, to); }
static void convert_uint24_big(const unsigned char *from, int64_t n, void *to) { convert_24(from, n, false, true, to); }

static inline void convert_uint32(const unsigned char *from, int64_t n, bool is_big, char *to)
{
    for (int64_t i = 0; i < n; i++) {
        const double value = (double)lw_field_unsigned(from + 4 * i, 4, is_big);
        memcpy(to + 8 * i, &value, sizeof value);
    }
}

static void convert_uint32_little(const unsigned char *from, int64_t n, void *to) { convert_uint32(from, n, false, to); }
static void convert_uint32_big(const unsigned char *from, int64_t n, void *to) { convert_uint32(from, n, true, to); }

static const struct lw_segy_format formats[] = {
    {1, "IBM float32", 4, LW_FLOAT32, {convert_ibm_little, convert_ibm_big}},
    {2, "int32", 4, LW_INT32, {NULL}},
    {3, "int16", 2, LW_INT16, {NULL}},
    {4, "fixed point with gain", 0, LW_FLOAT32, {NULL}},
    {5, "float32", 4, LW_FLOAT32, {NULL}},
    {6, "float64", 8, LW_FLOAT64, {NULL}},
    {7, "int24", 3, LW_INT32, {convert_int24_little, convert_int24_big}},
    {8, "int8", 1, LW_INT8, {NULL}},
    {9, "int64", 0, LW_FLOAT64, {NULL}},
    {10, "uint32", 4, LW_FLOAT64, {convert_uint32_little, convert_uint32_big}},
    {11, "uint16", 2, LW_UINT16, {NULL}},
    {12, "uint64", 0, LW_FLOAT64, {NULL}},
    {15, "uint24", 3, LW_INT32, {convert_uint24_little, convert_uint24_big}},
    {16, "uint8", 1, LW_UINT8, {NULL}},
};

const struct lw_segy_format *lw_segy_format_find(int code)
{
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        if (formats[f].code == code)
            return &formats[f];
    return NULL;
}

/* ---- the text -------------------------------------------------------------------------------------------------------------- */

/* ASCII characters for the 256 codes of EBCDIC's code page 37; blanks for characters that ASCII lacks. */
static const char from_ebcdic[] =
    "                                                                "
    "           .<(+|&         !$*); -/         ,%_>?         `:#@'=\""
    " abcdefghi       jklmnopqr       ~stuvwxyz      ^         []    "
    "{ABCDEFGHI      }JKLMNOPQR      \\ STUVWXYZ      0123456789      ";

/* Decide by which code's blank is more common in the text: most of a text is blanks. */
static bool is_ebcdic(const unsigned char *text)
{
    int balance = 0;
    for (int i = 0; i < LW_SEGY_TEXT_BYTES; i++)
        balance += (text[i] == 0x40) - (text[i] == ' ');
    return balance > 0;
}

/* Text is printable characters, ends of lines and tabs. MOST_OTHERS other bytes are allowed, and with cards any number of zeros. */
bool lw_segy_is_text(const unsigned char text[LW_SEGY_TEXT_BYTES], bool *has_cards)
{
    enum { MOST_OTHERS = 32 };
    static const char of_ascii[] = "\t\n\r", of_ebcdic[] = "\x05\x0d\x15\x25";
    const bool in_ebcdic = is_ebcdic(text);
    int others = 0;
    *has_cards = text[0] == (in_ebcdic ? 0xc3 : 'C');
    for (int i = 0; i < LW_SEGY_TEXT_BYTES; i++) {
        const bool is_letter = in_ebcdic ? text[i] >= 0x40 : text[i] >= ' ' && text[i] <= '~';
        others += !is_letter && (text[i] ? !strchr(in_ebcdic ? of_ebcdic : of_ascii, text[i]) : !*has_cards);
    }
    return others <= MOST_OTHERS;
}

const char *lw_segy_text(const unsigned char from[LW_SEGY_TEXT_BYTES], char text[LW_SEGY_TEXT_ROOM])
{
    enum { LINES = 40, COLUMNS = 80 };
    const bool is_plain = !is_ebcdic(from);
    size_t used = 0, kept = 0;
    for (int line = 0; line < LINES; line++) {
        for (int c = 0; c < COLUMNS; c++) {
            const unsigned char code = from[line * COLUMNS + c];
            const char letter = !is_plain ? from_ebcdic[code] : code < ' ' || code > '~' ? ' ' : (char)code;
            text[used++] = letter;
            kept = letter != ' ' ? used : kept;
        }
        used = kept;
        text[used++] = '\n';
    }
    text[kept] = '\0';
    return text;
}
