<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

/** Whether a request may be made again that had no good answer. */
enum Repeat
{
    /** Twice is as good as once: it only reads, or carries an Idempotency-Key, or leaves the same file. */
    case Safe;

    /** Only when it was certainly not carried out: no connection, or a refusal before it reached the sandbox. */
    case IfNotCarriedOut;
}
