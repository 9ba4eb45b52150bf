#include "util/json.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "util/num.h"

/* What stands behind the backslash for each byte: 0 if it needs none, 'u' if it is spelled as a
 * number. */
static const char escapes[256] = {
	'u',	     'u',	  'u',		 'u',	       'u', 'u', 'u', 'u',
	'b',	     't',	  'n',		 'u',	       'f', 'r', 'u', 'u', /* 0x00 */
	'u',	     'u',	  'u',		 'u',	       'u', 'u', 'u', 'u',
	'u',	     'u',	  'u',		 'u',	       'u', 'u', 'u', 'u', /* 0x10 */
	['"'] = '"', ['/'] = '/', ['\\'] = '\\', [0x7f] = 'u',
};

static void append_escape(struct buf *b, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";
	char text[6] = { '\\', escapes[c], '0', '0', digits[c >> 4], digits[c & 15] };

	buf_append(b, text, escapes[c] == 'u' ? 6 : 2);
}

void json_append_string(struct buf *b, struct qless_str s)
{
	size_t plain = 0; /* where the run of bytes that stay as they are began */
	size_t i;

	buf_append_char(b, '"');
	for (i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (escapes[c] == 0)
			continue;
		buf_append(b, s.ptr + plain, i - plain);
		append_escape(b, c);
		plain = i + 1;
	}
	if (s.len > plain)
		buf_append(b, s.ptr + plain, s.len - plain);
	buf_append_char(b, '"');
}

void json_append_number(struct buf *b, double value)
{
	char text[NUM_MAX];

	assert(!isnan(value));
	if (isinf(value))
		value = value > 0 ? DBL_MAX : -DBL_MAX;
	buf_append(b, text, num_format_g14(text, value));
}
