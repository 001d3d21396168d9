<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Sandlot\Exception\AgentException;
use Sandlot\Exception\ApiException;
use Sandlot\Exception\ConnectionException;
use Sandlot\Exception\SandlotException;

/** Decides which failed requests the library repeats, and when. */
final class RetryPolicy
{
    /** @var list<int> answers after which the same request may be let in */
    private const TRANSIENT = [429, 502, 503, 504];

    /**
     * @param float $within seconds from the first try in which the library repeats a request; 0: never
     * @param float $pause seconds before the first repetition, doubled each time, if the service names no time
     * @param float $pauseMax longest of these pauses
     */
    public function __construct(
        public readonly float $within = 60.0,
        private readonly float $pause = 0.2,
        private readonly float $pauseMax = 5.0,
    ) {
    }

    /** Returns the seconds before the next try; null: no further try. */
    public function wait(SandlotException $failure, int $attempt, Repeat $repeat): ?float
    {
        if (!self::allows($failure, $repeat)) {
            return null;
        }
        // Who was refused at the same moment is not to come back at the same moment.
        $asked = $failure instanceof ApiException || $failure instanceof AgentException ? $failure->retryAfter : null;
        return $asked !== null
            ? $asked + mt_rand() / mt_getrandmax() / 4
            : min($this->pauseMax, $this->pause * 2 ** ($attempt - 1)) * (0.5 + mt_rand() / mt_getrandmax() / 2);
    }

    private static function allows(SandlotException $failure, Repeat $repeat): bool
    {
        return match (true) {
            $failure instanceof ConnectionException => $repeat === Repeat::Safe || !$failure->wasSent,
            $failure instanceof ApiException => $repeat === Repeat::Safe
                ? in_array($failure->status, self::TRANSIENT, true) || $failure->error === 'request_in_progress'
                : in_array($failure->status, [429, 503], true) && $failure->error !== null,
            $failure instanceof AgentException => $failure->status === 429,
            default => false,
        };
    }
}
