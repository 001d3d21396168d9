<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Null: no examination has run yet. */
final class DoctorReport
{
    /** @param list<DoctorReportFindings> $findings */
    public function __construct(
        public readonly bool $ok,
        public readonly int $wrong,
        public readonly array $findings,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            ok: $fields->bool('ok'),
            wrong: $fields->int('wrong'),
            findings: $fields->objects('findings', DoctorReportFindings::read(...)),
        );
    }
}
