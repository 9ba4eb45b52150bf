"""The needs of the examples in qlessd-equivalents(7)."""

from kinds import Shell, Typed

EXAMPLES = {
    "A QUEUE FOR VERY LONG TASKS": Shell(),
    "A QUEUE FOR VERY LONG TASKS #2": Typed(
        before=["put me video j1 Encode {} 0", "put me print j2 Print {} 0"],
    ),
    "A QUEUE FOR VERY LONG TASKS #5": Typed(before=["put me video j1 Encode {} 0"]),
    "A QUEUE FOR VERY LONG TASKS #7": Typed(before=["put me video j1 Encode {} 0"]),
    "A QUEUE FOR VERY LONG TASKS #8": Shell(
        before=["put me video j1 Encode {} 0", "pop video w1 1"],
    ),
    "A QUEUE FOR VERY LONG TASKS #9": Typed(
        before=["put me video j1 Encode {} 0", "pop video w1 1"],
    ),
    "A QUEUE FOR VERY LONG TASKS #10": Typed(
        before=["put me video j1 Encode '{\"film\":1}' 0", "pop video w1 1"],
    ),
    "A QUEUE FOR VERY LONG TASKS #11": Typed(
        before=["put me video j1 Encode {} 0", "pop video w1 1"],
    ),
    "A QUEUE FOR VERY LONG TASKS #12": Typed(
        before=["put me video j1 Encode {} 0", "pop video w1 1"],
    ),
    "A QUEUE FOR VERY LONG TASKS #13": Typed(
        before=[
            "put me video j1 Encode {} 0",
            "put me video j2 Encode {} 60",
            "pop video w1 1",
        ],
    ),
    "A QUEUE FOR VERY LONG TASKS #14": Typed(before=["put me video j1 Encode {} 0"]),
    "A QUEUE FOR VERY LONG TASKS #15": Typed(before=["put me video j1 Encode {} 60"]),
    "A QUEUE FOR VERY LONG TASKS #16": Typed(
        before=["put me video j1 Encode {} 0", "put me video j2 Encode {} 0", "pop video w1 1"],
    ),
    "A QUEUE FOR VERY LONG TASKS #17": Typed(
        before=[
            "put me video j1 Encode {} 0",
            "put me video j2 Encode {} 0",
            "pop video w1 2",
            "complete j1 w1 video {}",
            "fail j2 w1 codec none {}",
        ],
    ),
    "A QUEUE FOR VERY LONG TASKS #18": Typed(
        before=[
            "put me video j1 Encode {} 0",
            "pop video w1 1",
            "job.start j1 w1 pid 4711 node encoder",
        ],
    ),
    "A QUEUE FOR VERY LONG TASKS #20": Typed(before=["put me video j1 Encode {} 0"]),
    "A QUEUE FOR VERY LONG TASKS #22": Typed(
        before=[
            "put me video j1 Encode {} 0",
            "pop video w1 1",
            "job.start j1 w1 pid 4711 node encoder",
        ],
    ),
    "A QUEUE FOR VERY LONG TASKS #23": Typed(
        before=["put me video j1 Encode {} 0", "pop video w1 1"],
    ),
    "A QUEUE FOR VERY LONG TASKS #27": Typed(before=["put me video j1 Encode {} 0"]),
    "A QUEUE FOR VERY LONG TASKS #28": Shell(before=["put me video j1 Encode {} 0"]),
    "A PUSHER OF SHORT TASKS #2": Typed(
        before=["put me push j1 Call {} 0", "pop push w1 1", "timeout j1", "pop push w1 1"],
    ),
    "A PUSHER OF SHORT TASKS #3": Typed(
        before=[
            "put me push j1 Call {} 0 retries 3 backoff exponential 10 600",
            "pop push w1 1",
        ],
    ),
    "A PUSHER OF SHORT TASKS #7": Typed(before=["put me push j1 Call {} 0", "pop push w1 1"]),
    "A PUSHER OF SHORT TASKS #9": Typed(
        before=[
            "put me push j1 Call {} 0 retries 0 runtime 0.01",
            "pop push w1 1",
            "bpop 0.2 w1 1 push",
        ],
    ),
    "A PUSHER OF SHORT TASKS #10": Typed(
        before=["put me push j1 Call {} 0", "put me push j2 Call {} 0 priority 9"],
    ),
    "A PUSHER OF SHORT TASKS #11": Typed(
        before=["put me push j1 Call {} 0", "put me push j2 Call {} 0"],
    ),
    "A PUSHER OF SHORT TASKS #12": Typed(
        before=["put me push j1 Call {} 0", "pop push w1 1", "fail j1 w1 http no {}"],
    ),
    "A PUSHER OF SHORT TASKS #13": Typed(
        before=["put me push j1 Call {} 0 retries 0", "pop push w1 1", "retry j1 push w1"],
    ),
    "A PUSHER OF SHORT TASKS #15": Typed(
        before=[
            "put me push j1 Call {} 0",
            "pop push w1 1",
            "retry j1 push w1 0 http 'no answer'",
        ],
    ),
    "A PUSHER OF SHORT TASKS #16": Shell(
        before=["put me push j1 Call {} 0", "pop push w1 1", "complete j1 w1 push {}"],
        any_number=True,
    ),
    "A PUSHER OF SHORT TASKS #17": Typed(
        before=["put me push j1 Call {} 0 priority 9", "put me push j2 Call {} 60"],
    ),
    "A PUSHER OF SHORT TASKS #18": Shell(before=["put me push j1 Call {} 0"]),
    "A PUSHER OF SHORT TASKS #19": Typed(before=["put me push j1 Call {} 0.05"]),
    "A PUSHER OF SHORT TASKS #20": Typed(
        before=["put me push j1 Call {} 0", "put me push j2 Call {} 0", "pop push w1 2"],
    ),
    "A PUSHER OF SHORT TASKS #21": Typed(
        before=["put me push j1 Call {} 0", "put me push j2 Call {} 0"],
    ),
    "A PUSHER OF SHORT TASKS #22": Shell(),
    "A PUSHER OF SHORT TASKS #23": Shell(),
    "A PUSHER OF SHORT TASKS #24": Shell(),
}
