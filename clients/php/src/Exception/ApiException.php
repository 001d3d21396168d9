<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

use Sandlot\Model\ErrorCode;
use Sandlot\Model\Quota;

/** The service refused. The codes that it documents have a class each below Sandlot\Exception\Api. */
class ApiException extends \RuntimeException implements SandlotException
{
    /**
     * @param int $status of HTTP
     * @param string|null $error the code; null: a proxy answered in place of the service
     * @param string|null $field the input that is wrong, as a JSON pointer or a name
     * @param string|null $requestId id of the request, for the operator
     * @param float|null $retryAfter seconds that the service asks to wait
     * @param Quota|null $quota limits of the plan, and the present use
     */
    final public function __construct(
        string $message,
        public readonly int $status,
        public readonly ?string $error = null,
        public readonly ?string $field = null,
        public readonly ?string $requestId = null,
        public readonly ?float $retryAfter = null,
        public readonly ?Quota $quota = null,
    ) {
        parent::__construct($message, $status);
    }

    /** Returns the code as a case; null for a code that this package does not know, or without a code. */
    public function errorCode(): ?ErrorCode
    {
        return $this->error === null ? null : ErrorCode::tryFrom($this->error);
    }
}
