/*
 * The exit status of qlessd-check.
 */
#ifndef CHECK_RESULT_H
#define CHECK_RESULT_H

enum result {
	RESULT_GOOD = 0,
	RESULT_DAMAGED = 1,
	RESULT_TROUBLE = 2,
};

#endif
