#include "util/nearest.h"

#include <assert.h>
#include <stdbool.h>

#include "util/minmax.h"

/* Shortest beginning of a name, in bytes, that stands for the name. */
#define BEGINNING_MIN 2
/* One mistake is expected in each run of this many bytes. */
#define BYTES_PER_MISTAKE 4

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static bool is_same(struct qless_str a, size_t i, struct qless_str b, size_t k)
{
	return lower(a.ptr[i]) == lower(b.ptr[k]);
}

/* Only the last three rows of the table of distances are kept. */
size_t nearest_distance(struct qless_str a, struct qless_str b)
{
	size_t rows[3][NEAREST_MAX + 1];

	assert(a.len <= NEAREST_MAX && b.len <= NEAREST_MAX);
	for (size_t k = 0; k <= b.len; k++)
		rows[0][k] = k;
	for (size_t i = 1; i <= a.len; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i - 1) % 3], *higher = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t k = 1; k <= b.len; k++) {
			size_t replaced = above[k - 1] + !is_same(a, i - 1, b, k - 1);

			row[k] = min_u64(min_u64(above[k], row[k - 1]) + 1, replaced);
			if (i > 1 && k > 1 && is_same(a, i - 1, b, k - 2) &&
			    is_same(a, i - 2, b, k - 1))
				row[k] = min_u64(row[k], higher[k - 2] + 1);
		}
	}
	return rows[a.len % 3][b.len];
}

/* Returns whether a name begins with what was typed. */
static bool is_beginning(struct qless_str typed, struct qless_str name)
{
	return typed.len >= BEGINNING_MIN && typed.len < name.len &&
	       str_equal_nocase(typed, str_make(name.ptr, typed.len));
}

void nearest_begin(struct nearest *n, struct qless_str typed)
{
	*n = (struct nearest){ .typed = typed };
}

void nearest_try(struct nearest *n, struct qless_str name)
{
	size_t distance;

	if (n->typed.len > NEAREST_MAX || name.len > NEAREST_MAX)
		return;
	distance = nearest_distance(n->typed, name);
	if (is_beginning(n->typed, name))
		distance = 1;
	if (distance > 1 + n->typed.len / BYTES_PER_MISTAKE || distance >= name.len ||
	    (n->found.ptr != NULL && distance >= n->distance))
		return;
	n->found = name;
	n->distance = distance;
}
