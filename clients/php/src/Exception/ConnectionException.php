<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

use Psr\Http\Client\NetworkExceptionInterface;
use Psr\Http\Message\RequestInterface;

/** The library could not connect to the service, or the connection broke before the answer. */
class ConnectionException extends \RuntimeException implements SandlotException, NetworkExceptionInterface
{
    /** @param bool $wasSent whether the service may have received the request, and may have made the change */
    public function __construct(
        string $message,
        private readonly RequestInterface $request,
        public readonly bool $wasSent,
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message, 0, $previous);
    }

    public function getRequest(): RequestInterface
    {
        return $this->request;
    }
}
