/*
 * qless jobs --count-by: numbers of jobs of a queue, by one or two fields.
 */
#include "cli/commands.h"
#include "cli/paging.h"

#define FIELDS_MAX 2
/* Longest name of a field. */
#define NAME_MAX_BYTES 15

struct count_names {
	char names[FIELDS_MAX][NAME_MAX_BYTES + 1];
	char titles[FIELDS_MAX][NAME_MAX_BYTES + 1];
	size_t count;
};

/* The server has accepted the fields, so each of them is a known name in some case. */
static void read_names(const struct query *fields, struct count_names *names)
{
	*names = (struct count_names){ .count = 0 };
	for (size_t i = 0; i < fields->count && i < FIELDS_MAX; i++) {
		struct qless_str word = fields->words[i];

		for (size_t k = 0; k < word.len && k < NAME_MAX_BYTES; k++) {
			char letter = word.ptr[k];
			bool is_upper = letter >= 'A' && letter <= 'Z';
			bool is_lower = letter >= 'a' && letter <= 'z';

			names->names[i][k] = (char)(is_upper ? letter - 'A' + 'a' : letter);
			names->titles[i][k] = (char)(is_lower ? letter - 'a' + 'A' : letter);
		}
		names->count++;
	}
}

static void print_as_json(const struct cli *cli, const struct count_names *names, yyjson_val *row)
{
	struct buf line = BUF_INIT(BUF_NO_MAX);

	buf_append_char(&line, '{');
	for (size_t i = 0; i < names->count; i++) {
		buf_printf(&line, "\"%s\":", names->names[i]);
		answer_append_value(&line, yyjson_arr_get(row, i));
		buf_append_char(&line, ',');
	}
	buf_append_str(&line, STR("\"count\":"));
	answer_append_value(&line, yyjson_arr_get(row, names->count));
	buf_append_char(&line, '}');
	cli_print_json(cli, buf_str(&line));
	buf_done(&line);
}

static void add_row(struct table *t, const struct count_names *names, yyjson_val *row)
{
	for (size_t i = 0; i < names->count; i++) {
		yyjson_val *value = yyjson_arr_get(row, i);

		if (yyjson_is_str(value))
			table_text(t, TABLE_PLAIN, answer_str(value, NULL));
		else
			table_safe(t, TABLE_DIM, STR("-"));
	}
	table_count(t, TABLE_PLAIN, answer_number(yyjson_arr_get(row, names->count), NULL));
}

static void show(struct cli *cli, const struct answer *answer, const struct query *fields)
{
	struct table_column columns[FIELDS_MAX + 1] = { { 0 } };
	struct count_names names;
	struct table *t;
	yyjson_arr_iter rows = yyjson_arr_iter_with(answer->root);
	yyjson_val *row;
	uint64_t limit = cli->options.limit;

	read_names(fields, &names);
	for (size_t i = 0; i < names.count; i++)
		columns[i] = (struct table_column){ names.titles[i], false, true, 0 };
	columns[names.count] = (struct table_column){ "JOBS", true, false, 0 };
	t = table_new(columns, names.count + 1, &cli->look);
	for (uint64_t i = 0;
	     (limit == 0 || i < limit) && (row = yyjson_arr_iter_next(&rows)) != NULL; i++) {
		if (cli->options.json)
			print_as_json(cli, &names, row);
		else
			add_row(t, &names, row);
	}
	if (!cli->options.json)
		table_print(t, stdout);
	table_free(t);
}

void command_jobs_count(struct cli *cli)
{
	struct query fields = { .words = NULL }, q = { .words = NULL };
	struct answer answer = { 0 };

	if (cli->options.klass != NULL) {
		cli_complain(cli, CLI_USAGE, "--count-by and --class exclude each other");
		return;
	}
	query_list(&fields, cli->options.count_by);
	query_text(&q, "QUEUE.COUNT");
	query_text(&q, cli->args[0]);
	paging_add_states(&q, cli->options.states);
	query_text(&q, "BY");
	for (size_t i = 0; i < fields.count; i++)
		query_add(&q, fields.words[i]);
	if (cli_ask_values(cli, &answer, &q))
		show(cli, &answer, &fields);
	answer_done(&answer);
	query_done(&q);
	query_done(&fields);
}
