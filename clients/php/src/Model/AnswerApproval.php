<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class AnswerApproval implements \JsonSerializable
{
    /** @param int|null $minutes With the answer minutes only. */
    public function __construct(
        public readonly ApprovalAnswer $answer,
        public readonly ?int $minutes = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'answer' => $this->answer,
            'minutes' => $this->minutes,
        ]);
    }
}
