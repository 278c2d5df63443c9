PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
CREATE TABLE topics (
    key INTEGER PRIMARY KEY,
    topic TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL DEFAULT 0,
    live INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE rows (
    place INTEGER PRIMARY KEY,
    topic INTEGER NOT NULL REFERENCES topics (key),
    row TEXT NOT NULL,
    turn TEXT NOT NULL,
    attempt TEXT,
    status TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    head TEXT NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (topic, row)
) STRICT;
CREATE TABLE inputs (
    key INTEGER PRIMARY KEY,
    topic INTEGER NOT NULL REFERENCES topics (key),
    input TEXT NOT NULL,
    seq INTEGER NOT NULL,
    queued INTEGER NOT NULL,
    fate TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (topic, input),
    UNIQUE (topic, seq)
) STRICT;
CREATE TABLE leases (
    topic TEXT PRIMARY KEY,
    epoch INTEGER NOT NULL,
    node TEXT,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
PRAGMA application_id = 1280068979;
PRAGMA user_version = 1;

INSERT INTO topics VALUES
    (1, 'trip', 3, 1, 1750000000000, 1750000009000),
    (2, 'gone', 5, 0, 0, 0),
    (3, 'empty', 0, 1, 1750000000500, 1750000000500);
INSERT INTO inputs VALUES
    (1, 1, 'i1', 1, 0, '{"type":"consumed","turn":"3.1","attempt":"3.1"}', 1750000000000,
     '{"id":"i1","body":{"type":"message","message":{"role":"user","parts":[{"type":"text","text":"Where is\nRome?"}]},"queue":"steer"}}'),
    (2, 1, 'i2', 2, 0, '{"type":"returned","why":"withdrawn"}', 1750000006000,
     '{"id":"i2","body":{"type":"message","message":{"role":"user","parts":[{"type":"text","text":"Or Paris?"}]},"queue":"follow-up"}}'),
    (3, 1, 'i3', 3, 1, '{"type":"queued"}', 1750000009000,
     '{"id":"i3","body":{"type":"of-a-later-version","x":[1]},"models":["m"]}'),
    (4, 3, 'i1', 1, 0, '{"type":"returned","why":"of-a-later-version"}', 1750000000500,
     '{"id":"i1","body":{"type":"regenerate","row":"r"}}');
INSERT INTO rows VALUES
    (1, 1, 'u1', '3.1', NULL, '"complete"', 1750000001000, 1750000001000,
     '{"author":"user","id":"u1","schema":1,"slot":0,"topic":"trip","turn":"3.1"}',
     '{"ui":{"id":"u1","role":"user","parts":[{"type":"text","text":"Where is\nRome?"}]},"messages":[{"message":{"role":"user","parts":[{"type":"text","text":"Where is\nRome?"}]}}]}'),
    (2, 1, 'a1', '3.1', '3.1', '"complete"', 1750000001000, 1750000005000,
     '{"attempt":"3.1","author":"assistant","id":"a1","model":"m","parent":"u1","schema":1,"slot":0,"topic":"trip","turn":"3.1"}',
     '{"ui":{"id":"a1","role":"assistant","parts":[{"type":"text","text":"In Italy."}]},"messages":[{"message":{"role":"assistant","parts":[{"type":"text","text":"In Italy."}]}}],"run":{"step":2}}'),
    (3, 1, 'a2', '3.2', '3.2', '"open"', 1750000007000, 1750000008000,
     '{"attempt":"3.2","author":"assistant","id":"a2","schema":1,"slot":1,"topic":"trip","turn":"3.2"}',
     '{"ui":{"id":"a2","role":"assistant","parts":[]},"messages":[]}');
