/*
 * What the user sees: a line while it runs, then a table or JSON.
 */
#ifndef BENCHMARK_REPORT_H
#define BENCHMARK_REPORT_H

struct bench;

/* Renew the progress line, if there is one and it is time. */
void report_progress(struct bench *b);
/* Take it away. */
void report_end_progress(struct bench *b);

/* The result, on standard output; complaints on standard error. */
void report_table(struct bench *b);
void report_json(struct bench *b);

#endif
